package hook

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestBreakerTrial: while one RPC tries the server, RPCs that began before the breaker opened do
// not affect the breaker, whatever their results are.
func TestBreakerTrial(t *testing.T) {
	unanswered := status.Error(codes.Unavailable, "down")
	for _, late := range []error{nil, unanswered, errAbandoned} {
		synctest.Test(t, func(t *testing.T) {
			const pause = time.Second
			b := newBreaker(pause)
			admit := func() func(error) {
				ended, err := b.Allow()
				if err != nil {
					return nil
				}
				return ended
			}
			var admitted []func(error)
			for range maxFailures + 1 {
				ended := admit()
				if ended == nil {
					t.Fatal("a closed breaker refuses")
				}
				admitted = append(admitted, ended)
			}
			for _, ended := range admitted[:maxFailures] {
				ended(unanswered)
			}
			time.Sleep(pause / 2)
			if admit() != nil {
				t.Fatal("an open breaker admits")
			}
			time.Sleep(pause)
			trial := admit()
			if trial == nil {
				t.Fatal("there is no trial after the pause")
			}
			admitted[maxFailures](late)
			if admit() != nil {
				t.Errorf("%v: an older question ended the trial: there are two", late)
			}
			trial(errAbandoned)
			if trial = admit(); trial == nil {
				t.Fatalf("%v: there is no other trial after an abandoned one, or the pause was prolonged", late)
			}
			trial(unanswered)
			time.Sleep(pause / 2)
			if admit() != nil {
				t.Errorf("%v: a failed trial does not prolong the pause", late)
			}
			time.Sleep(pause)
			if trial = admit(); trial == nil {
				t.Fatalf("%v: there is no trial after the second pause", late)
			}
			trial(status.Error(codes.InvalidArgument, "an answer"))
			if first, second := admit(), admit(); first == nil || second == nil {
				t.Errorf("%v: an answer does not close it", late)
			}
		})
	}
}
