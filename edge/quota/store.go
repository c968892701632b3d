package quota

import (
	"context"
	"time"
)

// Store keeps budgets that replicas share. Safe for concurrent use. Its one clock judges all of them. An error says that
// it cannot be reached; whether a Take or a Return took effect is then unknown.
type Store interface {
	// Take spends up to want calls, 1 at least, of the key's budget. Granted is how many it spent. 0: none is left, and
	// wait is how long it takes until one is, unless somebody returns some before.
	Take(ctx context.Context, key string, b Budget, want int) (granted int, wait time.Duration, err error)
	// Return gives back n calls that were taken and not used.
	Return(ctx context.Context, key string, b Budget, n int) error
	// Sharing says that this replica is there, and gives the number of the replicas that said so in the last seconds, this
	// one included.
	Sharing(ctx context.Context) (int, error)
}
