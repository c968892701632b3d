// Package await lets tests wait for effects of other goroutines or processes.
package await

import (
	"testing"
	"time"
)

// Patience is the timeout of every wait. The awaited event usually comes much sooner.
const Patience = time.Minute

// The time between two evaluations of a condition grows from shortest to longest, as evaluating one costs processor time: it is a request in
// many tests. It stays below a tenth of the time waited so far.
const (
	shortest = 2 * time.Millisecond
	longest  = 25 * time.Millisecond
)

// Until returns when condition holds, and fails the test after Patience. what describes the
// condition. The condition is evaluated in the caller's goroutine. In a bubble of testing/synctest,
// the bubble's clock applies.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for start := time.Now(); !condition(); {
		waited := time.Since(start)
		if waited > Patience {
			t.Fatalf("not within %v: %s", Patience, what)
		}
		time.Sleep(min(max(shortest, waited/10), longest))
	}
}

// Receive returns the next value of a channel, or the zero value if it is closed. It fails the test
// after Patience.
func Receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	select {
	case v := <-from:
		return v
	case <-late.C:
		t.Fatalf("not within %v: %s", Patience, what)
		panic("unreachable")
	}
}
