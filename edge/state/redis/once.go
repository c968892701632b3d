package redis

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

var spendScript, spentScript = own("spend"), own("spent")

// Proofs returns the store of the proofs by which clients prove possession of their token's key.
// Each may be used once.
func (r *Replica) Proofs() *Once { return &Once{r, "dpop", nil} }

// Confirmations returns the store of used and of remembered confirmations of calls. Its Spend waits
// for Options.AcknowledgeUsed Redis replicas.
func (r *Replica) Confirmations() *Once {
	return &Once{r, "confirm", r.usedAcks}
}

// Ended returns the store of the sessions that have ended while their ids could still create them.
func (r *Replica) Ended() *Once { return &Once{r, "ended", nil} }

// Once keeps one key for each caller, with digests of the ids that the caller used, until they
// expire. Neither the caller nor the ids can be read from it. It is safe for concurrent use.
type Once struct {
	r    *Replica
	kind string
	// acks waits for the Redis replicas that must have what Spend records. nil requires none.
	acks *acknowledgements
}

// ID returns an empty text: all replicas on one Redis share the store.
func (o *Once) ID() string { return "" }

// Spend records for the duration life that a caller used id. fresh is false if it was used before,
// on any replica. If a reply was lost, fresh may be false when the id is sent again.
//
// The error is a *mcp.Error of KindLimit if the caller has most entries. It is
// state.ErrUnacknowledged if fewer Redis replicas have the id than required: if fresh is true, the
// id is recorded and stays so unless Redis loses it, and otherwise nothing was sent.
func (o *Once) Spend(ctx context.Context, caller, id string, life time.Duration, most int) (fresh bool, err error) {
	sum := sha256.Sum256([]byte(id))
	v, few, err := o.eval(ctx, spendScript, []string{o.key(caller)}, sum[:16], max(life.Milliseconds(), 1), most)
	if err != nil {
		return false, err
	}
	switch v {
	case int64(1):
		return true, few
	case int64(-1):
		return false, mcp.Errorf(mcp.KindLimit, "%d entries of the caller are stored, the limit", most)
	}
	return false, nil
}

// eval runs a script. few is the error if too few Redis replicas have its writes; v is then valid.
func (o *Once) eval(ctx context.Context, s *script, keys []string, args ...any) (v any, few, err error) {
	if o.acks != nil {
		leave, err := o.acks.enterFor(ctx, keys[0]) // which is of the caller
		if err != nil {
			return nil, nil, err
		}
		defer leave()
	}
	return o.r.evalAcknowledged(ctx, o.acks, s, keys, args...)
}

// Spent reports whether Spend has recorded id for a caller, and its time is not over.
func (o *Once) Spent(ctx context.Context, caller, id string) (bool, error) {
	sum := sha256.Sum256([]byte(id))
	v, err := o.r.eval(ctx, spentScript, []string{o.key(caller)}, sum[:16])
	return v == int64(1), err
}

// key returns the key of a caller's used ids. It differs from the keys of principals' sessions.
func (o *Once) key(caller string) string {
	return o.r.prefix + ":" + o.kind + ":{" + hexDigest(caller) + "}"
}
