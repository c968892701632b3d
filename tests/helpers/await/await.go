// Package await has tests wait for what other goroutines or processes bring about.
package await

import (
	"testing"
	"time"
)

// Patience bounds every wait. It is no pace: what is awaited comes much sooner, also on a busy machine.
const Patience = 20 * time.Second

// interval is the time between two looks at a condition.
const interval = 2 * time.Millisecond

// Until returns once condition holds, and ends the test if that takes longer than Patience; what says what was awaited.
// The condition is evaluated in the caller's goroutine. In a bubble of testing/synctest time is the bubble's.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !condition(); time.Sleep(interval) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", Patience, what)
		}
	}
}

// Receive returns the next value of a channel, or the zero value of a closed one, and ends the test if none comes within
// Patience.
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
