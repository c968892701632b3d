package state

import (
	"errors"
	"fmt"
)

// The catalogue of errors. Media wrap them; test with errors.Is.
var (
	// ErrNotFound: the session, stream or call is not there (any more).
	ErrNotFound = errors.New("state: not found")
	// ErrFenced: the write's epoch is stale or the call is done. The writer lost the call: it cancels
	// what it runs and only follows.
	ErrFenced = errors.New("state: fenced")
	// ErrExists: the id of a new session, stream or call is taken.
	ErrExists = errors.New("state: id is taken")
	// ErrLimit: a bound on sessions, streams or subscriptions was reached; or, as a RoomError, that on the
	// bytes of a session.
	ErrLimit = errors.New("state: limit reached")
	// ErrTooLarge: an entry that may not be dropped, or a state, exceeds Limits.ResultBytes.
	// Nothing was written.
	ErrTooLarge = errors.New("state: entry too large")
	// ErrCursor: a cursor that List did not give out.
	ErrCursor = errors.New("state: not a cursor of this list")
	// ErrUnavailable: the medium cannot be reached; whether the write happened is not known.
	ErrUnavailable = errors.New("state: unavailable")
	// ErrUnacknowledged: the write happened, or may have, and fewer copies of the medium have it than are demanded. It may be lost
	// with the copy that has it. Who gets it undoes what it began, or sends it again, as after ErrUnavailable, which it is.
	ErrUnacknowledged = fmt.Errorf("%w: too few copies of it acknowledged the write", ErrUnavailable)
)
