package quota

import (
	"context"
	"time"
)

// Store holds budgets that replicas share, measured by its own clock. Safe for concurrent use.
// After an error, whether a Take or a Return took effect is unknown.
type Store interface {
	// Take charges up to want calls, at least 1, to the key's budget. granted is how many it
	// charged. If it is 0, the budget is exhausted, and wait is the time until a call is available,
	// or less if calls are returned before.
	Take(ctx context.Context, key string, b Budget, want int) (granted int, wait time.Duration, err error)
	// Return returns n calls that were taken and not used.
	Return(ctx context.Context, key string, b Budget, n int) error
	// Sharing announces this replica and returns the number of replicas that did so in the last
	// seconds, including this one.
	Sharing(ctx context.Context) (int, error)
}
