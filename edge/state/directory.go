package state

import (
	"context"
	"time"
)

// Sighting is a session as somebody sees it who does not use it.
type Sighting struct {
	*Session
	// OpenCalls are the calls that are not done, those that wait for an answer included.
	OpenCalls int
	// Expires is when the session ends if nothing uses it before; later while its calls or streams keep it.
	Expires time.Time
}

// Directory lets operators look at the sessions of a medium, which to it is no use of them: it extends
// nothing and makes nobody a holder. Safe for concurrent use.
type Directory interface {
	// Look reads one session. ErrNotFound.
	Look(ctx context.Context, id string) (*Sighting, error)
	// List returns at most max sessions, of any principal and in no order, behind a cursor, and the
	// cursor behind them; empty: from the beginning, and: that was the last. A page may be short, or
	// empty, and not the last: the work for one is bounded. What is there all the while, unused, comes
	// once; what is made, used or ended meanwhile may be missing or come again. ErrCursor.
	List(ctx context.Context, cursor string, max int) (page []*Sighting, next string, err error)
}
