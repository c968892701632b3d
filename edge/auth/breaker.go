package auth

import (
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// tripAfter is the number of consecutive unanswered requests after which further ones fail at
	// once.
	tripAfter = 3
	// unansweredAfter is the duration from which a failed request counts as unanswered. Faster failures
	// delay no caller.
	unansweredAfter = time.Second
	// probeAfter is the time for which no request is sent after that, and after an unanswered probe.
	probeAfter = 10 * time.Second
)

// newBreaker returns a breaker that saves callers the wait for a server that hangs. After tripAfter
// consecutive unanswered requests it is open for probeAfter; then one request is sent as a probe, and
// its answer closes it.
func newBreaker() *gobreaker.TwoStepCircuitBreaker[any] {
	return gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Timeout:     probeAfter,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= tripAfter },
	})
}
