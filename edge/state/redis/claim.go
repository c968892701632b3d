package redis

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Claim implements medium.Calls.
func (r *Replica) Claim(ctx context.Context, w medium.ClaimTarget) (*medium.Owned, error) {
	by := flag(w.Cancel) + string(r.seals.seal(bindCanceller(w.Session), []byte(w.CancelledBy)))
	rep, err := r.runClaiming(ctx, claimScript, w.Session, w.Call, text(w.Epoch), w.RequestID, w.Random, flag(w.Lapsed), by, indexed(w.Session, ""), r.seals.heads())
	if err != nil {
		return nil, err
	}
	if err := r.refused(w.Session, w.Call+w.RequestID, rep); err != nil {
		return nil, err
	}
	o, err := r.readOwned(w.Session, rep)
	if err == nil {
		r.reindex(ctx, o)
	}
	return o, err
}
