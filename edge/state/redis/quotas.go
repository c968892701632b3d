package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/state"
)

// presence is the time for which a replica counts after its last record.
const presence = 5 * time.Second

var quotaScript, presentScript = own("quota"), own("present")

// Quotas returns the store of the call budgets that replicas share.
func (r *Replica) Quotas() quota.Store { return quotas{r} }

// quotas keeps one key for each budget that is not full. The caller cannot be read from its name.
type quotas struct{ r *Replica }

// Take implements quota.Store.
func (q quotas) Take(ctx context.Context, key string, b quota.Budget, want int) (granted int, wait time.Duration, err error) {
	return q.spend(ctx, key, b, want)
}

// Return implements quota.Store.
func (q quotas) Return(ctx context.Context, key string, b quota.Budget, n int) error {
	_, _, err := q.spend(ctx, key, b, -n)
	return err
}

func (q quotas) spend(ctx context.Context, key string, b quota.Budget, n int) (granted int, wait time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	v, err := q.r.eval(ctx, quotaScript, []string{q.r.quota(key)}, b.Interval.Microseconds(), b.Burst, n)
	if err != nil {
		return 0, 0, unavailable(ctx, err)
	}
	list, _ := v.([]any)
	if len(list) != 2 {
		return 0, 0, fmt.Errorf("a script returned %v: %w", v, state.ErrUnavailable)
	}
	took, _ := list[0].(int64)
	text, _ := list[1].(string)
	micros, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("a script returned %v: %w", v, state.ErrUnavailable)
	}
	return int(took), time.Duration(micros) * time.Microsecond, nil
}

// Sharing implements quota.Store.
func (q quotas) Sharing(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	v, err := q.r.eval(ctx, presentScript, []string{q.r.prefix + ":qr"}, q.r.id, presence.Milliseconds())
	if err != nil {
		return 0, unavailable(ctx, err)
	}
	n, _ := v.(int64)
	return int(n), nil
}

// quota returns the key of a budget.
func (r *Replica) quota(key string) string {
	sum := sha256.Sum256([]byte(key))
	return r.prefix + ":q:{" + hex.EncodeToString(sum[:16]) + "}"
}
