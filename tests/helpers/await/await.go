// Package await lets tests wait for effects of other goroutines or processes.
package await

import (
	"testing"
	"time"
)

// Patience is the timeout of every wait. The awaited event usually comes much sooner.
const Patience = time.Minute

// interval is the time between two evaluations of a condition.
const interval = 2 * time.Millisecond

// Until returns when condition holds, and fails the test after Patience. what describes the
// condition. The condition is evaluated in the caller's goroutine. In a bubble of testing/synctest,
// the bubble's clock applies.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !condition(); time.Sleep(interval) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", Patience, what)
		}
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
