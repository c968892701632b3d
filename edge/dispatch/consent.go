package dispatch

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// Confirmations remembers which confirmations of calls were used, and which callers are not asked again. It is safe for concurrent use.
type Confirmations interface {
	// ID identifies the store; empty for one that all replicas share. What is asked with one store is not confirmed with another.
	ID() string
	// Spend records id for a caller, for the duration life. fresh is false if it is recorded already. An error
	// means that this is unknown. A *mcp.Error of KindLimit means that most entries of the caller are recorded.
	Spend(ctx context.Context, caller, id string, life time.Duration, most int) (fresh bool, err error)
	// Spent reports whether id is recorded for a caller.
	Spent(ctx context.Context, caller, id string) (bool, error)
}

const (
	// maxConfirmations bounds the confirmations that one process remembers if replicas share no store.
	maxConfirmations = 256 << 10
	// maxConfirmationsOfOne bounds those of one caller.
	maxConfirmationsOfOne = 16 << 10
	// nonceSpare is how much longer a nonce is remembered than it is accepted, for replicas whose clocks are behind.
	nonceSpare = time.Minute
	// maxDeclared bounds the message of a service's own confirmation, in bytes.
	maxDeclared = 1000
)

// consent is what earlier rounds have of the confirmation of a call. The state of a round stores it before all
// else. The zero value is that of a call about which nobody was asked.
type consent struct {
	// Call is the digest of the call that is confirmed, or about which the user was asked, with its confirmations.
	Call []byte `json:"c,omitempty"`
	// Asked means that the round before asked the user. Otherwise the call is confirmed.
	Asked bool `json:"q,omitempty"`
	// Nonce is spent before the backend is called. Empty means that the state is in the hands of the edge, which uses it once.
	Nonce string `json:"n,omitempty"`
	// Store is the ID of the store of Nonce.
	Store string `json:"s,omitempty"`
	// From is the network of the client to which the state was sent, if its caller is anonymous and it is known.
	// Nonce counts for it.
	From string `json:"f,omitempty"`
	// Until is when Nonce expires, in milliseconds since 1970.
	Until int64 `json:"u,omitempty"`
	// Answers are the client's answers to the backend's questions, which were not yet passed on when the user was asked.
	Answers []keptAnswer `json:"a,omitempty"`
	// Rounds is the number of rounds in which the edge asked. The backend does not count them.
	Rounds int `json:"e,omitempty"`
}

// keptAnswer is an answer in a consent.
type keptAnswer struct {
	Key    string     `json:"k"`
	Method mcp.Method `json:"m,omitempty"`
	Result []byte     `json:"r"`
}

// noConsent is that of a call about which nobody was asked. It is shared, and not changed.
var noConsent consent

// consentMark begins a state that holds a consent.
var consentMark = []byte("mcpedge.consent\x00")

// seal puts the consent before the rest of a state. The state is unchanged if nobody was asked, unless it begins with consentMark.
func (c *consent) seal(rest []byte) []byte {
	if c.Call == nil && c.Rounds == 0 && !bytes.HasPrefix(rest, consentMark) {
		return rest
	}
	text, _ := json.Marshal(c) // Bytes and strings are always JSON.
	out := append(append(bytes.Clone(consentMark), text...), 0)
	return append(out, rest...)
}

// openConsent separates the consent from the rest of a state; it is the inverse of seal.
func openConsent(state []byte) (c consent, rest []byte) {
	text, ok := bytes.CutPrefix(state, consentMark)
	if !ok {
		return consent{}, state
	}
	text, rest, ok = bytes.Cut(text, []byte{0})
	if !ok || json.Unmarshal(text, &c) != nil {
		return consent{}, state
	}
	if len(rest) == 0 {
		rest = nil
	}
	return c, rest
}

// confirmed reports whether the call was confirmed before this round.
func (c *consent) confirmed() bool { return c.Call != nil && !c.Asked }

// asked reports whether the round before asked for the confirmation.
func (c *consent) asked() bool { return c.Call != nil && c.Asked }

// keep keeps the answers of a round, except that to the edge's own question. It returns false if they are larger
// than may be kept.
func (c *consent) keep(answers []mcp.InputResponse) bool {
	n := 0
	for i := range answers {
		if a := &answers[i]; a.Key != confirmKey {
			n += len(a.Key) + len(a.Result)
			c.Answers = append(c.Answers, keptAnswer{a.Key, a.Method, a.Result})
		}
	}
	return n <= mcp.MaxState
}

// kept returns the answers that were kept.
func (c *consent) kept() (out []mcp.InputResponse) {
	for _, a := range c.Answers {
		out = append(out, mcp.InputResponse{Key: a.Key, Method: a.Method, Result: a.Result})
	}
	return out
}

func digestOf(parts ...[]byte) []byte {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:", len(p))
		_, _ = h.Write(p)
	}
	return h.Sum(nil)
}

// digest returns the digest of the call that is confirmed: the caller, the set, the backend, its name of the
// tool, the arguments that it gets, and the confirmations that the round requires. The text of the question is not
// part of it: it also depends on the name by which a client called the tool.
func (r *round) digest(args json.RawMessage) []byte {
	return digestOf([]byte(r.call.Principal.Key()), r.toolDigest(), jsonrpc.Compact(nil, args), r.obliged())
}

// remembered returns the id under which an answer is remembered for the caller: of the client, the set, the tool and the confirmation.
func (r *round) remembered(o *policy.Obligation) string {
	return string(digestOf([]byte("remember"), []byte(r.call.Principal.Client), r.toolDigest(), o.Digest[:]))
}

// toolDigest returns the digest of the set, the backend, and its name of the tool.
func (r *round) toolDigest() []byte {
	t := r.named.Tool
	return digestOf([]byte(r.call.Set), []byte(t.Owner.Name()), []byte(t.Proto.GetName()))
}

// oblige determines the confirmations that the round requires: those of the policy, and that of the service behind an adapter.
func (r *round) oblige(ctx context.Context) (err error) {
	t := r.named.Tool
	if r.obligations = nil; t == nil || r.call.Method != mcp.MethodToolsCall {
		return nil
	}
	if r.allowed.Obliges() {
		if r.obligations, err = r.allowed.Obligations(ctx, r.call, r.named.Policy, r.toolArguments); err != nil {
			return err
		}
	}
	if message, required := t.Owner.Confirmation(t.Proto.GetName()); required {
		message = clipped(printable(message), maxDeclared)
		r.obligations = append(r.obligations, policy.Declared(t.Owner.Name()+"/"+t.Proto.GetName(), message))
	}
	if len(r.obligations) > 0 {
		r.target.Repeatable = false // the confirmation holds once
	}
	return nil
}

// required is what a round needs of its confirmations.
type required byte

const (
	// notRequired requires no confirmation, or none of this round.
	notRequired required = iota
	// mustAsk requires an answer that the round does not have.
	mustAsk
	// answered means that the round has the answer to the question of a round before, which was charged to the quotas.
	answered
	// lapsed means that the round before asked, and was not recorded as allowed, and that no confirmation is required any more.
	lapsed
)

// consider determines what the round, which has arguments, needs of its confirmations.
func (r *round) consider(args json.RawMessage) {
	if r.consent, r.confirmed = notRequired, false; len(r.obligations) == 0 {
		if r.before.asked() {
			r.consent = lapsed
		}
		return
	}
	r.consent = mustAsk
	this := r.digest(args)
	switch {
	case !bytes.Equal(r.before.Call, this):
	case r.before.confirmed():
		r.consent, r.confirmed = notRequired, true
	case r.before.Store == r.d.opts.Confirmations.ID() && r.answer != nil && r.before.left() > 0:
		r.consent = answered
	}
}

// obliged identifies the confirmations that the round requires.
func (r *round) obliged() (out []byte) {
	for i := range r.obligations {
		out = append(out, r.obligations[i].Digest[:]...)
	}
	return out
}

// after returns the consent of the next round, whose state is held by the client if isSent is true.
func (r *round) after(isSent bool) *consent {
	next := &consent{Rounds: r.before.Rounds}
	args, err := r.arguments()
	if !r.confirmed || err != nil {
		return next
	}
	if next.Call = r.digest(args); isSent {
		r.issue(next)
	}
	return next
}

// issue gives a consent its nonce, which is accepted for as long as the call may live.
func (r *round) issue(c *consent) {
	until := time.Now().Add(r.d.opts.CallLifetime)
	if r.call.Task != nil && r.call.Task.Until.After(until) {
		until = r.call.Task.Until
	}
	c.Nonce, c.Store, c.Until = rand.Text(), r.d.opts.Confirmations.ID(), until.UnixMilli()
	if a := r.call.From; r.call.Principal.Anonymous() && a.IsValid() {
		c.From = mcp.CountedAddress(a).String()
	}
}

// number returns the number of the round as the backend counts it.
func (r *round) number() int { return max(r.call.Round-r.before.Rounds, 1) }

// left returns for how long the nonce is still accepted.
func (c *consent) left() time.Duration { return time.Until(time.UnixMilli(c.Until)) }

// holder returns whom the nonce counts for, which is also part of its identity.
func (r *round) holder() string {
	key := r.call.Principal.Key()
	if r.before.From == "" {
		return key
	}
	return key + "\x00" + r.before.From
}

// sends reports whether the client gets the state of a round that requires input, which it may use once. Sessions and tasks keep it,
// and the state of a call that may become a task is sent with questions alone. A round that may be repeated, as one
// that follows an operation, is not used once.
func (r *round) sends(in *mcp.InputRequired) bool {
	return !in.Repeatable && r.rules.Stateless && (r.call.Task == nil || r.call.Task.ID == "" && len(in.Requests) > 0)
}

// spends reports whether the round uses up the consent of the round before.
func (r *round) spends() bool {
	return r.before.Nonce != "" && (r.before.confirmed() || r.consent == answered)
}

// spend uses up the consent of the round before, and records that the call is allowed. It runs immediately
// before the backend is called: a call whose confirmation is spent runs at most once.
func (r *round) spend(ctx context.Context) error {
	if !r.spends() {
		return nil
	}
	if err := r.use(ctx); err != nil {
		return err
	}
	if r.consent == answered {
		r.remember(ctx)
	}
	if err := r.allow(ctx); err != nil {
		return r.withoutState(err)
	}
	return nil
}

// use spends the nonce of the round before.
func (r *round) use(ctx context.Context) error {
	store := r.d.opts.Confirmations
	left := r.before.left()
	if r.before.Store != store.ID() || left <= 0 { // Whether it was used is not known.
		return unknownUse(r.call.Method)
	}
	fresh, err := store.Spend(ctx, r.holder(), r.before.Nonce, left+nonceSpare, maxConfirmationsOfOne)
	switch {
	case err != nil:
		return unspent(err)
	case !fresh:
		return spentBefore(r.call.Method)
	}
	r.settled = true
	return nil
}

// anew returns an error of the backend for which the client may call again. If the round has used a state of the client, it says that
// this is of no use any more.
func (r *round) anew(err error) error {
	e := mcp.AsError(err)
	if e.Kind != mcp.KindUnavailable {
		return err
	}
	return r.withoutState(e)
}

// withoutState returns an error with the advice to call again without the state of the round before, if that was used and is the client's.
func (r *round) withoutState(err error) error {
	if !r.settled || !r.rules.Stateless || r.call.Task != nil {
		return err
	}
	e := *mcp.AsError(err)
	e.Message += "; the user's confirmation was used: call again without requestState"
	return &e
}

// spentBefore is the error of a call whose confirmation was used.
func spentBefore(m mcp.Method) *mcp.Error {
	return &mcp.Error{
		Kind: mcp.KindUnknownOutcome, Data: json.RawMessage(`{"reason":"confirmation_used"}`),
		Message: fmt.Sprintf("the user's confirmation of this call was used before, and holds once; "+
			"whether that %s took effect is not known here: check before you call again, without requestState", m),
	}
}

// unknownUse is the error of a call of which this process does not know whether its confirmation was used.
func unknownUse(m mcp.Method) *mcp.Error {
	return &mcp.Error{
		Kind: mcp.KindUnknownOutcome, Data: json.RawMessage(`{"reason":"confirmation_unknown"}`),
		Message: fmt.Sprintf("the call was confirmed at another server, or at this one before it was restarted, and whether it continued there "+
			"is not known here; nor is whether that %s took effect: check before you call again, without requestState", m),
	}
}

// unspent is the error of a call while the store of confirmations does not answer.
func unspent(err error) error {
	if errors.Is(err, once.ErrFull) {
		return &mcp.Error{Kind: mcp.KindLimit, Err: err, RetryAfter: time.Minute,
			Message: "the call must be confirmed, and no more confirmations can be kept: it was not run; try again later"}
	}
	if e := mcp.AsError(err); e.Kind == mcp.KindLimit {
		return &mcp.Error{Kind: mcp.KindLimit, Err: err, RetryAfter: time.Minute, Message: fmt.Sprintf(
			"the call must be confirmed, and %d confirmations of the caller are kept, the limit: it was not run; try again later",
			maxConfirmationsOfOne)}
	}
	return &mcp.Error{Kind: mcp.KindStateUnavailable, Err: err,
		Message: "the call must be confirmed, and the state of confirmations cannot be reached: it was not run; try again later"}
}

// remember stores the answer for the confirmations that allow it. It is lost if the store fails or is full: the user is then asked again.
func (r *round) remember(ctx context.Context) {
	for i := range r.obligations {
		if o := &r.obligations[i]; o.Remember > 0 && !r.call.Principal.Anonymous() {
			if _, err := r.d.opts.Confirmations.Spend(ctx, r.call.Principal.Key(), r.remembered(o), o.Remember, maxConfirmationsOfOne); err != nil {
				r.d.opts.Logger.Warn("a confirmation is not remembered", "confirmation", o.Name, "error", err)
			}
		}
	}
}
