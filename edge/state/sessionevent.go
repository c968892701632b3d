package state

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// SessionEventKind is the kind of a session event.
type SessionEventKind uint8

// The kinds of session events.
const (
	// SessionChanged: the session's record has changed; reload it.
	SessionChanged SessionEventKind = iota + 1
	// SessionDeleted: the session was deleted.
	SessionDeleted
	// RequestCancelled: the client cancelled the request RequestID.
	RequestCancelled
	// RootsChanged: the client's roots changed.
	RootsChanged
	// StreamLeft: the client has closed the session's attached standalone stream, so that a replica
	// should attach a spare one.
	StreamLeft
	// RequestBegan: a call with the client's id RequestID has a record since another replica's
	// Commit. Only media send it.
	RequestBegan
	// ListsServed: the client has read lists at another replica, which does not have these lists any
	// more. The record has their digest.
	ListsServed
)

// SessionEvent is a hint about a session to the replicas that hold it. The record is authoritative.
type SessionEvent struct {
	Kind      SessionEventKind
	Session   string
	RequestID string
	// By is the identity (mcp.Principal.Identity) of the caller that cancelled a request, if it may
	// differ from the caller that made it. nil means the same caller, or unknown.
	By *mcp.Principal `json:",omitempty"`
}

// NotifiableFor is the time for which the holders of a deleted session can still be notified.
const NotifiableFor = 10 * time.Second
