package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

var spendScript, spentScript = own("spend"), own("spent")

// Proofs returns the store of the proofs by which clients prove possession of their token's key.
// Each may be used once.
func (r *Replica) Proofs() *Once { return &Once{r, "dpop", nil} }

// Confirmations returns the store of the confirmations of calls, each of which is used once, and of those that are remembered. Its Spend
// waits for as many Redis replicas as Options.AcknowledgeUsed demands.
func (r *Replica) Confirmations() *Once {
	if r.usedAcks.needed == 0 {
		return &Once{r, "confirm", nil}
	}
	return &Once{r, "confirm", &r.usedAcks}
}

// Ended returns the store of the sessions that have ended while their ids could still create them.
func (r *Replica) Ended() *Once { return &Once{r, "ended", nil} }

// Once keeps one key for each caller, with what the caller used, for as long as it would be
// accepted. Neither the caller nor what was used can be read from it. It is safe for concurrent
// use.
type Once struct {
	r    *Replica
	kind string
	// acks has how many Redis replicas must have what Spend records; nil requires none.
	acks *acknowledgements
}

// ID is empty: all replicas on one Redis know what was used.
func (o *Once) ID() string { return "" }

// Spend records that a caller used id, for the duration life. fresh is whether it was not used
// before, on any replica. A *mcp.Error of KindLimit means that most entries of the caller are
// recorded. An id whose reply was lost may not be fresh when it is sent again. The error state.ErrUnacknowledged means that fewer Redis
// replicas have the id than are demanded: if fresh is true, it is recorded and stays so unless Redis loses it, otherwise nothing was sent.
func (o *Once) Spend(ctx context.Context, caller, id string, life time.Duration, most int) (fresh bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	sum := sha256.Sum256([]byte(id))
	v, few, err := o.eval(ctx, spendScript, []string{o.key(caller)}, sum[:16], max(life.Milliseconds(), 1), most)
	if err != nil {
		return false, err
	}
	switch v {
	case int64(1):
		return true, few
	case int64(0):
		return false, nil
	case int64(-1):
		return false, mcp.Errorf(mcp.KindLimit, "%d entries of the caller are stored, the limit", most)
	}
	return false, fmt.Errorf("a script returned %v: %w", v, state.ErrUnavailable)
}

// eval runs a script. few is the error of a result that was written, if too few Redis replicas have it.
func (o *Once) eval(ctx context.Context, s *script, keys []string, args ...any) (v any, few, err error) {
	if o.acks == nil {
		if v, err = o.r.eval(ctx, s, keys, args...); err != nil {
			err = unavailable(ctx, err)
		}
		return v, nil, err
	}
	leave, err := o.acks.enterFor(ctx, keys[0]) // which is of the caller
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	return o.r.evalWaiting(ctx, o.acks, s, keys, args...)
}

// Spent reports whether Spend has recorded id for a caller, and its time is not over.
func (o *Once) Spent(ctx context.Context, caller, id string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	sum := sha256.Sum256([]byte(id))
	v, err := o.r.eval(ctx, spentScript, []string{o.key(caller)}, sum[:16])
	if err != nil {
		return false, unavailable(ctx, err)
	}
	return v == int64(1), nil
}

// key returns the key of what a caller used. It is not among those of principals' sessions.
func (o *Once) key(caller string) string {
	sum := sha256.Sum256([]byte(caller))
	return o.r.prefix + ":" + o.kind + ":{" + hex.EncodeToString(sum[:16]) + "}"
}
