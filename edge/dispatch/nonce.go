package dispatch

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Confirmations records which confirmations of calls were used, and which callers need not confirm
// again. It is safe for concurrent use.
type Confirmations interface {
	// ID identifies the store. Empty means that all replicas share it. A question that was asked
	// with one store cannot be confirmed with another.
	ID() string
	// Spend records id for a caller, for the duration life. fresh is false if it is already
	// recorded. An error means that this is unknown. An error with fresh means that id is recorded
	// in fewer places than required, and may be lost. A *mcp.Error of KindLimit means that most
	// entries of the caller are recorded.
	Spend(ctx context.Context, caller, id string, life time.Duration, most int) (fresh bool, err error)
	// Spent reports whether id is recorded for a caller.
	Spent(ctx context.Context, caller, id string) (bool, error)
}

const (
	// maxConfirmations bounds the confirmations that one process remembers if replicas share no store.
	maxConfirmations = 256 << 10
	// maxConfirmationsOfOne bounds those of one caller.
	maxConfirmationsOfOne = 16 << 10
	// nonceMargin is the time for which a nonce is remembered after it is no longer accepted, for
	// replicas whose clocks are behind.
	nonceMargin = time.Minute
)

// issueNonce gives a consent its nonce, which is accepted for as long as the call may live.
func (r *round) issueNonce(c *consent) {
	until := time.Now().Add(r.d.opts.CallLifetime)
	if r.call.Task != nil && r.call.Task.Until.After(until) {
		until = r.call.Task.Until
	}
	c.Nonce, c.Store, c.Until = rand.Text(), r.d.opts.Confirmations.ID(), until.UnixMilli()
	if a := r.call.From; r.call.Principal.Anonymous() && a.IsValid() {
		c.From = mcp.CountedAddress(a).String()
	}
}

// remaining returns the time for which the nonce is still accepted.
func (c *consent) remaining() time.Duration { return time.Until(time.UnixMilli(c.Until)) }

// nonceHolder returns whom the nonce counts for, which is also part of its identity.
func (r *round) nonceHolder() string {
	key := r.call.Principal.Key()
	if r.before.From == "" {
		return key
	}
	return key + "\x00" + r.before.From
}

// sendsState reports whether the client gets the state of a round that requires input, and may use it
// once. Sessions and tasks keep their states, and a call that may become a task sends its state
// only with questions. A round that may be repeated, such as one that follows an operation, is not
// limited to one use.
func (r *round) sendsState(in *mcp.InputRequired) bool {
	return !in.Repeatable && r.rules.Stateless && (r.call.Task == nil || r.call.Task.ID == "" && len(in.Requests) > 0)
}

// How the question with a nonce ended, if the call was not run. It is recorded beside the nonce.
const (
	endedRefused = "refused"
	endedAsked   = "asked again"
)

// nonceUsable reports whether it can be known whether the nonce of the round before was used.
func (r *round) nonceUsable() bool {
	return r.before.Store == r.d.opts.Confirmations.ID() && r.before.remaining() > 0
}

// spend spends the nonce of the previous round, if it has one, and records that the call is allowed.
// It runs immediately before the backend is called, so that a confirmation is used at most once.
func (r *round) spend(ctx context.Context) error {
	if r.before.Nonce == "" {
		return nil
	}
	if err := r.spendNonce(ctx); err != nil {
		return err
	}
	if r.state == consentAccepted {
		r.remember(ctx)
	}
	if err := r.allow(ctx); err != nil {
		return r.withoutState(err)
	}
	return nil
}

// spendNonce spends the nonce of the round before.
func (r *round) spendNonce(ctx context.Context) error {
	if !r.nonceUsable() { // Whether it was used is not known.
		return unknownUse(r.call.Method)
	}
	store := r.d.opts.Confirmations
	fresh, err := store.Spend(ctx, r.nonceHolder(), r.before.Nonce, r.before.remaining()+nonceMargin, maxConfirmationsOfOne)
	switch {
	case err != nil && fresh: // It stays used: a release may be late, and would then release it for a call that has used it since.
		r.spent = true
		r.countConsents(telemetry.ConfirmationUnacknowledged, append(r.before.asksFor(), r.before.awaited()...))
		return r.withoutState(unacknowledged(err))
	case err != nil:
		return spendError(err)
	case !fresh:
		r.countConsents(telemetry.ConfirmationUsed, r.before.asksFor())
		return r.usedBefore(ctx)
	}
	r.spent = true
	return nil
}

// endQuestion spends the nonce of a previous round that does not run, and records the end of its question.
// If it is unknown whether a nonce was used, this process does not accept it, and does not spend
// it.
func (r *round) endQuestion(ctx context.Context, how string) error {
	if r.before.Nonce == "" || !r.nonceUsable() {
		return nil
	}
	if err := r.spendNonce(ctx); err != nil {
		return err
	}
	_, err := r.d.opts.Confirmations.Spend(ctx, r.nonceHolder(), endID(r.before.Nonce, how), r.before.remaining()+nonceMargin, maxConfirmationsOfOne)
	if err != nil { // A repeated answer is refused without the reason.
		r.d.opts.Logger.Debug("the outcome of a confirmation could not be recorded", "error", err)
	}
	return nil
}

// endAnswered spends the previous round's question if it was answered and another question follows.
func (r *round) endAnswered(ctx context.Context) error {
	if r.answer == nil {
		return nil
	}
	if err := r.endQuestion(ctx, endedAsked); err != nil {
		return err
	}
	r.countConsents(telemetry.ConfirmationAccepted, r.before.asksFor())
	return nil
}

// endID returns the id under which the end of a question with a nonce is recorded.
func endID(nonce, how string) string { return nonce + "\x00" + how }

// usedBefore returns the error of a round whose nonce was used.
func (r *round) usedBefore(ctx context.Context) error {
	for _, how := range []string{endedRefused, endedAsked} {
		if ended, err := r.d.opts.Confirmations.Spent(ctx, r.nonceHolder(), endID(r.before.Nonce, how)); err == nil && ended {
			return endedBefore(how)
		}
	}
	return spentBefore(r.call.Method, r.before.Awaits != nil)
}
