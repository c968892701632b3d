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

var proofScript = own("proof")

// Proofs returns the store of the proofs by which clients prove possession of their token's key.
// Each may be used once.
func (r *Replica) Proofs() *Proofs { return &Proofs{r} }

// Proofs keeps one key for each caller, with the proofs that were used, for as long as they would
// be accepted. Neither the caller nor the proofs can be read from it. It is safe for concurrent
// use.
type Proofs struct{ r *Replica }

// Spend records that a caller used a proof, for the duration life. fresh is whether it was not used
// before, on any replica. A *mcp.Error of KindLimit means that most proofs of the caller are
// recorded. A proof whose reply was lost may not be fresh when it is sent again.
func (p *Proofs) Spend(ctx context.Context, caller, id string, life time.Duration, most int) (fresh bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	sum := sha256.Sum256([]byte(id))
	v, err := p.r.eval(ctx, proofScript, []string{p.r.proofs(caller)}, sum[:16], max(life.Milliseconds(), 1), most)
	if err != nil {
		return false, unavailable(ctx, err)
	}
	switch v {
	case int64(1), int64(0):
		return v == int64(1), nil
	case int64(-1):
		return false, mcp.Errorf(mcp.KindLimit, "%d proofs of the caller are stored, the limit", most)
	}
	return false, fmt.Errorf("a script returned %v: %w", v, state.ErrUnavailable)
}

// proofs returns the key of a caller's proofs. It is not among those of principals' sessions.
func (r *Replica) proofs(caller string) string {
	sum := sha256.Sum256([]byte(caller))
	return r.prefix + ":dpop:{" + hex.EncodeToString(sum[:16]) + "}"
}
