package catalog

import (
	"sync/atomic"
	"time"
)

// period is how long the size of a message counts at least for what the next ones are expected to be; at most it is
// twice that, as long as there are any. So one large result does not count for ever.
const period = 5 * time.Minute

// Size is that of the largest message of this period and the one before. A period ends with the first message
// after it, so that what was seen last counts however long ago it was. Safe for concurrent use.
type Size struct {
	now, before atomic.Int64 // in bytes
	began       atomic.Int64 // when this period did, in Unix nanoseconds
}

// Largest is what is expected, in bytes; 0: nothing was received yet.
func (s *Size) Largest() int64 { return max(s.now.Load(), s.before.Load()) }

// Note takes a message of n bytes that came at a time, about. An empty one counts as a byte: it was received.
func (s *Size) Note(n int64, at time.Time) {
	t, began := at.UnixNano(), s.began.Load()
	if t-began >= int64(period) && s.began.CompareAndSwap(began, t) {
		s.before.Store(s.now.Swap(0))
	}
	n = max(n, 1)
	for old := s.now.Load(); n > old && !s.now.CompareAndSwap(old, n); old = s.now.Load() {
	}
}
