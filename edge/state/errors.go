package state

import "errors"

// The catalogue of errors. Media wrap them; test with errors.Is.
var (
	// ErrNotFound: the session, stream or call is not there (any more).
	ErrNotFound = errors.New("state: not found")
	// ErrFenced: the write's epoch is stale or the call is done. The writer lost the call: it cancels
	// what it runs and only follows.
	ErrFenced = errors.New("state: fenced")
	// ErrLimit: a bound on sessions, streams or log was reached.
	ErrLimit = errors.New("state: limit reached")
	// ErrTooLarge: an entry that may not be dropped exceeds Limits.ResultBytes.
	ErrTooLarge = errors.New("state: entry too large")
	// ErrRollback: a position beyond the log's end: the medium lost writes. The epoch was raised.
	ErrRollback = errors.New("state: log was rolled back")
	// ErrUnavailable: the medium cannot be reached; whether the write happened is not known.
	ErrUnavailable = errors.New("state: unavailable")
)
