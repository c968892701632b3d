package redis

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/quota"
)

// presence is the time for which a replica counts after its last record.
const presence = 5 * time.Second

var quotaScript, presentScript = own("quota"), own("present")

// Quotas returns the store of the call budgets that replicas share.
func (r *Replica) Quotas() quota.Store { return quotas{r} }

// quotas keeps one key for each budget that is not full. The caller cannot be read from its name.
type quotas struct{ r *Replica }

// Return implements quota.Store.
func (q quotas) Return(ctx context.Context, key string, b quota.Budget, n int) error {
	_, _, err := q.Take(ctx, key, b, -n)
	return err
}

// Take implements quota.Store. It returns calls if n is negative.
func (q quotas) Take(ctx context.Context, key string, b quota.Budget, n int) (granted int, wait time.Duration, err error) {
	v, err := q.r.eval(ctx, quotaScript, []string{q.r.prefix + ":q:{" + hexDigest(key) + "}"}, b.Interval.Microseconds(), b.Burst, n)
	if err != nil {
		return 0, 0, err
	}
	list, _ := v.([]any)
	rep := reply{rest: list}
	return int(rep.number(0)), time.Duration(rep.number(1)) * time.Microsecond, nil
}

// Sharing implements quota.Store.
func (q quotas) Sharing(ctx context.Context) (int, error) {
	v, err := q.r.eval(ctx, presentScript, []string{q.r.prefix + ":qr"}, q.r.id, presence.Milliseconds())
	n, _ := v.(int64)
	return int(n), err
}
