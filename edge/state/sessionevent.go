package state

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// SessionEventKind is what a session event tells.
type SessionEventKind uint8

// The kinds of session events.
const (
	// SessionChanged: the session's record changed; load it again.
	SessionChanged SessionEventKind = iota + 1
	// SessionDeleted: the session is gone.
	SessionDeleted
	// RequestCancelled: the client cancelled the request RequestID.
	RequestCancelled
	// RootsChanged: the client's roots changed.
	RootsChanged
	// StreamLeft: the client has closed the attached standalone stream of the session; a spare one is to be attached.
	StreamLeft
)

// SessionEvent is a hint about a session to the replicas that hold it. The record tells the truth.
type SessionEvent struct {
	Kind      SessionEventKind
	Session   string
	RequestID string
	// By is the identity (mcp.Principal.Identity) of who cancelled a request, where that may be another caller than the one that made
	// it; nil: the one that made it, or not known.
	By *mcp.Principal `json:",omitempty"`
}

// NotifiableFor is how long the holders of an erased session can still be notified.
const NotifiableFor = 10 * time.Second
