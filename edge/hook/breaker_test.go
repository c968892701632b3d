package hook

import (
	"testing"
	"time"
)

// TestBreakerTrial: while one question tries the server, those that were admitted before the breaker opened have no effect, however they
// end, unless they are answered.
func TestBreakerTrial(t *testing.T) {
	const pause = time.Second
	now := time.Unix(1, 0)
	for _, late := range []result{failed, abandoned} {
		var b breaker
		for range maxFailures + 1 {
			if ok, isTrial := b.admit(now); !ok || isTrial {
				t.Fatal("a closed breaker refuses, or tries")
			}
		}
		for range maxFailures {
			b.ended(failed, false, now, pause)
		}
		if ok, _ := b.admit(now.Add(pause / 2)); ok {
			t.Fatal("an open breaker admits")
		}
		then := now.Add(pause)
		if ok, isTrial := b.admit(then); !ok || !isTrial {
			t.Fatal("there is no trial after the pause")
		}
		b.ended(late, false, then, pause)
		if ok, _ := b.admit(then); ok {
			t.Errorf("%d: an older question ended the trial: there are two", late)
		}
		b.ended(abandoned, true, then, pause)
		if ok, isTrial := b.admit(then); !ok || !isTrial {
			t.Errorf("%d: there is no other trial after an abandoned one, or the pause was prolonged", late)
		}
		b.ended(failed, true, then, pause)
		if ok, _ := b.admit(then.Add(pause / 2)); ok || !b.isOpen() {
			t.Errorf("%d: a failed trial does not prolong the pause", late)
		}
		b.ended(answered, false, then, pause)
		if b.isOpen() {
			t.Errorf("%d: an answer does not close it", late)
		}
	}
}
