package dispatch

import (
	"bytes"
	"context"
	"slices"

	"github.com/mcpedge/mcpedge/edge/policy"
)

// recall returns the obligations that the user still has to confirm: the others are remembered for
// the caller. It sets what the round has once these are confirmed.
func (r *round) recall(ctx context.Context) (missing []policy.Obligation, _ error) {
	r.holds.Has = make([]agreement, len(r.required.confirmations))
	for i := range r.required.confirmations {
		o := &r.required.confirmations[i]
		r.holds.Has[i] = agreement{Name: o.Name, Digest: o.Digest[:]}
		if o.Remember > 0 && !r.call.Principal.Anonymous() {
			known, err := r.d.opts.Confirmations.Spent(ctx, r.call.Principal.Key(), r.rememberedID(o))
			if err != nil {
				return nil, spendError(err)
			}
			r.holds.Has[i].Remembered = known
		}
		if !r.holds.Has[i].Remembered {
			missing = append(missing, *o)
		}
	}
	return missing, nil
}

// remember stores the answer for the confirmations that were asked and may be remembered. If the
// store fails or is full, the answer is lost, and the next call asks the user again.
func (r *round) remember(ctx context.Context) {
	for i := range r.required.confirmations {
		o := &r.required.confirmations[i]
		known := slices.ContainsFunc(r.before.Has, func(a agreement) bool { return a.Remembered && bytes.Equal(a.Digest, o.Digest[:]) })
		if known || o.Remember == 0 || r.call.Principal.Anonymous() {
			continue
		}
		if _, err := r.d.opts.Confirmations.Spend(ctx, r.call.Principal.Key(), r.rememberedID(o), o.Remember, maxConfirmationsOfOne); err != nil {
			r.d.opts.Logger.Warn("a confirmation is not remembered", "confirmation", o.Name, "error", err)
		}
	}
}

// rememberedID returns the id under which an answer is remembered for the caller. It depends on the
// client, the set, the tool and the confirmation.
func (r *round) rememberedID(o *policy.Obligation) string {
	return string(digestOf([]byte("remember"), []byte(r.call.Principal.Client), r.toolDigest(), o.Digest[:]))
}
