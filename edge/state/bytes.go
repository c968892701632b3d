package state

import (
	"errors"
	"fmt"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Allowances for the memory of a record in addition to its text, in any medium.
const (
	sessionOverhead      = 512
	subscriptionOverhead = 64
	callOverhead         = 512
	claimOverhead        = 8
)

// Bytes returns the size of the record for SessionBytes: its text, which is mainly subscriptions,
// client info and capabilities, and an allowance for the rest. Its time is linear in the number of
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

// Check returns the size of a new session, or why every medium refuses it: it has no id, or it is larger
// than most bytes.
func (s *Session) Check(most int) (size int, err error) {
	size = s.Bytes()
	switch {
	case s.ID == "":
		return 0, errors.New("a session needs an id")
	case size > most:
		return 0, fmt.Errorf("session %s: %w", mcp.SessionPrint(s.ID), &RoomError{More: size, Max: most})
	}
	return size, nil
}

// Caller names whom the session counts for in PrincipalBytes: its principal or, without a subject, the
// address that it was created from.
func (s *Session) Caller() string {
	switch {
	case !s.Principal.Anonymous():
		return "p" + s.Principal.Key()
	case s.Address.IsValid():
		return "a" + mcp.CountedAddress(s.Address).String()
	}
	return "a"
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

// Bytes returns the size of the call for SessionBytes until it is done: its params, its principal,
// and an allowance for the rest. The state and the answers of a waiting call are added to it.
func (c *Request) Bytes() int {
	return callOverhead + len(c.ID) + len(c.RequestID) + len(c.Params) + len(c.Shown) + len(c.Added) + len(c.Trace) + principalBytes(&c.Principal)
}

// Bytes returns the size of an answer for SessionBytes while its call waits.
func (a *Answer) Bytes() int { return len(a.Result) + len(a.Error) + principalBytes(&a.By) }

// RoomError means that a write does not fit within SessionBytes. It is an ErrLimit.
type RoomError struct {
	// Used is the size of the session, More the size of the addition, and Max the bound, in bytes.
	Used, More, Max int
}

// Error implements error.
func (e *RoomError) Error() string {
	return fmt.Sprintf("the session keeps %d of at most %d bytes, and %d more do not fit", e.Used, e.Max, e.More)
}

// PrincipalRoomError means that a write does not fit within PrincipalBytes. It is an ErrLimit. Used is
// the size of the sessions of the principal, or of the address of an anonymous caller.
type PrincipalRoomError RoomError

// Error implements error.
func (e *PrincipalRoomError) Error() string {
	return fmt.Sprintf("the sessions and tasks of the caller keep %d of at most %d bytes, and %d more do not fit", e.Used, e.Max, e.More)
}

// Unwrap returns ErrLimit.
func (e *PrincipalRoomError) Unwrap() error { return ErrLimit }

// Unwrap returns ErrLimit.
func (e *RoomError) Unwrap() error { return ErrLimit }
