package state

import (
	"errors"
	"fmt"
)

// The errors of media. Media wrap them; test with errors.Is.
var (
	// ErrNotFound: the session, stream or call does not exist (any more).
	ErrNotFound = errors.New("state: not found")
	// ErrFenced: the write's epoch is stale, or the call is done. The writer has lost the call: it
	// must cancel its execution, and only follow the log.
	ErrFenced = errors.New("state: fenced")
	// ErrExists: the id of a new session, stream or call is taken.
	ErrExists = errors.New("state: id is taken")
	// ErrLimit: a bound on sessions, streams or subscriptions was reached; or, as a RoomError, the
	// bound on the bytes of a session.
	ErrLimit = errors.New("state: limit reached")
	// ErrTooLarge: an entry that may not be dropped, or a state, exceeds Limits.ResultBytes.
	// Nothing was written.
	ErrTooLarge = errors.New("state: entry too large")
	// ErrCursor: the cursor was not returned by List.
	ErrCursor = errors.New("state: not a cursor of this list")
	// ErrUnavailable: the medium cannot be reached; it is unknown whether the write happened.
	ErrUnavailable = errors.New("state: unavailable")
	// ErrUnacknowledged: the write happened, or may have, but fewer copies of the medium
	// acknowledged it than required, so it may be lost. The caller undoes its operation, or retries
	// it, as after ErrUnavailable, which this error wraps.
	ErrUnacknowledged = fmt.Errorf("%w: too few copies of it acknowledged the write", ErrUnavailable)
)
