package catalog

import (
	"sync/atomic"
	"time"
)

// period is the minimum time for which a message's size is kept. It is dropped after at most two
// periods if other messages arrive, so that one large result does not count forever.
const period = 5 * time.Minute

// Size is the size of the largest message of this period and the previous one. A period ends with
// the first message after its time, so that the last size is kept while no message arrives. It is
// safe for concurrent use.
type Size struct {
	now, before atomic.Int64 // in bytes
	began       atomic.Int64 // when this period began, in Unix nanoseconds
}

// Largest returns the expected size in bytes, or 0 if no message was received yet.
func (s *Size) Largest() int64 { return max(s.now.Load(), s.before.Load()) }

// Note records a message of n bytes that arrived at the given time. An empty message counts as one
// byte, to show that it was received.
func (s *Size) Note(n int64, at time.Time) {
	t, began := at.UnixNano(), s.began.Load()
	if t-began >= int64(period) && s.began.CompareAndSwap(began, t) {
		s.before.Store(s.now.Swap(0))
	}
	n = max(n, 1)
	for old := s.now.Load(); n > old && !s.now.CompareAndSwap(old, n); old = s.now.Load() {
	}
}
