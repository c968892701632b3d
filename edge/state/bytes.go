package state

import (
	"fmt"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Allowances for what a record takes beside its text, in either medium.
const (
	sessionOverhead      = 512
	subscriptionOverhead = 64
	callOverhead         = 512
	claimOverhead        = 8
)

// Bytes returns what the record counts for SessionBytes: its text, above all subscriptions, client
// info and capabilities, and an allowance for the rest. It takes time in proportion to the
// subscriptions.
func (s *Session) Bytes() int {
	n := sessionOverhead + len(s.ID) + len(s.Set) + principalBytes(&s.Principal) + len(s.ClientInfo) + len(s.Capabilities)
	for _, uri := range s.Subscriptions {
		n += subscriptionOverhead + len(uri)
	}
	for _, id := range s.Tasks {
		n += subscriptionOverhead + len(id)
	}
	return n
}

func principalBytes(p *mcp.Principal) int {
	n := len(p.Subject) + len(p.Issuer) + len(p.Client) + len(p.Actor) + len(p.TokenID)
	for _, scope := range p.Scopes {
		n += len(scope)
	}
	for _, role := range p.Roles {
		n += len(role)
	}
	for name, value := range p.Forwarded {
		n += len(name) + len(value)
	}
	for name, value := range p.Claims {
		n += len(name) + len(value) + claimOverhead
	}
	return n
}

// Bytes returns what the call counts for SessionBytes until it is done: its params, its principal,
// and an allowance for the rest. The state and the answers of a waiting call count in addition,
// with their length.
func (c *Request) Bytes() int {
	return callOverhead + len(c.ID) + len(c.RequestID) + len(c.Params) + len(c.Shown) + len(c.Added) + len(c.Trace) + principalBytes(&c.Principal)
}

// Bytes returns what an answer counts for SessionBytes while its call waits.
func (a *Answer) Bytes() int { return len(a.Result) + len(a.Error) + principalBytes(&a.By) }

// RoomError means that a write does not fit within SessionBytes. It is an ErrLimit.
type RoomError struct {
	// Used is what the session keeps, More what was to be added, Max the bound, in bytes.
	Used, More, Max int
}

// Error implements error.
func (e *RoomError) Error() string {
	return fmt.Sprintf("the session keeps %d of at most %d bytes, and %d more do not fit", e.Used, e.Max, e.More)
}

// PrincipalRoomError means that a write does not fit within PrincipalBytes. It is an ErrLimit.
type PrincipalRoomError struct {
	// Used is what the principal, or the address of an anonymous caller, keeps, More what was to be
	// added, Max the bound, in bytes.
	Used, More, Max int
}

// Error implements error.
func (e *PrincipalRoomError) Error() string {
	return fmt.Sprintf("the sessions and tasks of the caller keep %d of at most %d bytes, and %d more do not fit", e.Used, e.Max, e.More)
}

// Unwrap returns ErrLimit.
func (e *PrincipalRoomError) Unwrap() error { return ErrLimit }

// Unwrap returns ErrLimit.
func (e *RoomError) Unwrap() error { return ErrLimit }
