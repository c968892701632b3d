package grpcconn

import (
	"testing"
	"testing/synctest"
	"time"
)

// The first failure of a server is logged, and so is its recovery. A server that alternates is not
// logged each time.
func TestFailuresAreLoggedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o Outage
		failed, again := 0, 0
		fail := func() {
			if o.Failed() {
				failed++
			}
		}
		answer := func() {
			if o.Answered() {
				again++
			}
		}
		logged := func(wantFailed, wantAgain int) {
			t.Helper()
			if failed != wantFailed || again != wantAgain {
				t.Errorf("%d failures are logged and %d recoveries, want %d and %d", failed, again, wantFailed, wantAgain)
			}
			failed, again = 0, 0
		}
		answer()
		logged(0, 0)
		for range 100 {
			fail()
		}
		logged(1, 0)
		for range 100 {
			answer()
			fail()
		}
		logged(0, 1)
		answer()
		time.Sleep(logInterval)
		fail()
		answer()
		logged(1, 1)
	})
}
