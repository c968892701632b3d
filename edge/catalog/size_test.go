package catalog

import (
	"testing"
	"time"
)

// A large message counts for its own period and the next one, or while no other message arrives.
func TestLargeResultIsForgotten(t *testing.T) {
	const large = 1 << 20
	s, at := new(Size), time.Now()
	want := func(n int64) {
		t.Helper()
		if got := s.Largest(); got != n {
			t.Errorf("%d bytes are expected, want %d", got, n)
		}
	}
	want(0)
	s.Note(0, at)
	want(1)
	s.Note(large, at.Add(period-1))
	s.Note(10, at.Add(period-1))
	want(large)
	s.Note(10, at.Add(2*period-1)) // the second period
	s.Note(20, at.Add(3*period-2))
	want(large)
	s.Note(10, at.Add(3*period))
	want(20)
	s.Note(large, at) // after both periods
	want(large)
	s.Note(10, at.Add(100*period))
	want(large)
	s.Note(10, at.Add(101*period))
	want(10)
}
