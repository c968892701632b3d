package dispatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// consent records the confirmations and approvals of a call over its rounds. It is the beginning of
// each round's state. The zero value is a call without questions.
type consent struct {
	// Call is the digest of the call that is confirmed, or about which the user was asked.
	Call []byte `json:"c,omitempty"`
	// Has are the confirmations that the call has, or has once the user accepts.
	Has []agreement `json:"h,omitempty"`
	// Asked means that the round before asked the user. Otherwise the call is confirmed.
	Asked bool `json:"q,omitempty"`
	// Nonce is spent before the backend is called. Empty means that the edge keeps the state, and
	// uses it once.
	Nonce string `json:"n,omitempty"`
	// Store is the ID of the store of Nonce.
	Store string `json:"s,omitempty"`
	// From is the network of the client that got the state, to which Nonce is charged. It is set if
	// the caller is anonymous and the network is known.
	From string `json:"f,omitempty"`
	// Until is when Nonce expires, in milliseconds since 1970.
	Until int64 `json:"u,omitempty"`
	// Answers are the client's answers to the backend's questions that were not passed on before the
	// edge asked the user.
	Answers []keptAnswer `json:"a,omitempty"`
	// Awaits are the approvals that the previous round waited for. nil means that it waited for
	// none. Approved are the approvals that the call has.
	Awaits   []agreement `json:"w,omitempty"`
	Approved []approved  `json:"p,omitempty"`
	// Rounds is the number of rounds in which the edge asked. The backend does not count them.
	Rounds int `json:"e,omitempty"`
}

// agreement is a confirmation in a consent, or an approval that it waits for.
type agreement struct {
	Name   string `json:"n"`
	Digest []byte `json:"d"`
	// Remembered means that the user was not asked, because an earlier answer was remembered.
	Remembered bool `json:"r,omitempty"`
}

// keptAnswer is an answer in a consent.
type keptAnswer struct {
	Key    string     `json:"k"`
	Method mcp.Method `json:"m,omitempty"`
	Result []byte     `json:"r"`
}

// noConsent is that of a call without questions. It is shared, and not changed.
var noConsent consent

// maxDeclared bounds the message of a service's own confirmation, in bytes.
const maxDeclared = 1000

// consentMark begins a state that holds a consent.
var consentMark = []byte("mcpedge.consent\x00")

// prepend prepends the consent to the rest of a state. Without a question it returns rest unchanged,
// unless rest begins with consentMark.
func (c *consent) prepend(rest []byte) []byte {
	if c.Call == nil && c.Rounds == 0 && !bytes.HasPrefix(rest, consentMark) {
		return rest
	}
	text, _ := json.Marshal(c) // Bytes and strings are always JSON.
	out := append(append(bytes.Clone(consentMark), text...), 0)
	return append(out, rest...)
}

// openConsent separates the consent from the rest of a state; it is the inverse of prepend.
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
func (c *consent) confirmed() bool { return c.Call != nil && !c.Asked && c.Awaits == nil }

// asked reports whether the round before asked for the confirmation.
func (c *consent) asked() bool { return c.Call != nil && c.Asked }

// hasAll reports whether a consent has all confirmations of a list.
func (c *consent) hasAll(obligations []policy.Obligation) bool {
	for i := range obligations {
		if !slices.ContainsFunc(c.Has, func(a agreement) bool { return bytes.Equal(a.Digest, obligations[i].Digest[:]) }) {
			return false
		}
	}
	return true
}

// keep keeps the answers of a round, except for that to the edge's own question. It returns false
// if they exceed the bound.
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

// digest returns the digest of the confirmed call: the caller, the set, the backend, the backend's
// name of the tool, and its arguments. The text of the question is not included, because it depends
// on the name by which the client called the tool.
func (r *round) digest(args json.RawMessage) []byte {
	return digestOf([]byte(r.call.Principal.Key()), r.toolDigest(), jsonrpc.Compact(nil, args))
}

// remembered returns the id under which an answer is remembered for the caller. It depends on the
// client, the set, the tool and the confirmation.
func (r *round) remembered(o *policy.Obligation) string {
	return string(digestOf([]byte("remember"), []byte(r.call.Principal.Client), r.toolDigest(), o.Digest[:]))
}

// toolDigest returns the digest of the set, the backend, and its name of the tool.
func (r *round) toolDigest() []byte {
	t := r.named.Tool
	return digestOf([]byte(r.call.Set), []byte(t.Owner.Name()), []byte(t.Proto.GetName()))
}

// requirements are the confirmations and approvals that a round needs. The zero value requires nothing.
type requirements struct {
	// confirmations and approvals are those of the policy. The service behind an adapter may require
	// a confirmation, too.
	confirmations, approvals []policy.Obligation
	// declared marks the context of a call whose user has given the confirmation that the service
	// behind an adapter requires. nil means that it requires none.
	declared func(context.Context) context.Context
}

// noRequirements are the requirements of a call that needs none. It is shared, and not changed.
var noRequirements requirements

// findRequirements determines the approvals and confirmations that the policy and the service behind an
// adapter require of the round.
func (r *round) findRequirements(ctx context.Context) error {
	t := r.named.Tool
	if r.required = &noRequirements; t == nil || r.call.Method != mcp.MethodToolsCall {
		return nil
	}
	var confirmations, approvals []policy.Obligation
	if r.allowed.Obliges() {
		list, err := r.allowed.Obligations(ctx, r.call, r.named.Policy, r.toolArguments)
		if err != nil {
			return err
		}
		for _, o := range list {
			if o.Approval() {
				approvals = append(approvals, o)
			} else {
				confirmations = append(confirmations, o)
			}
		}
	}
	message, declared := t.Owner.Confirmation(t.Proto.GetName())
	if declared != nil {
		message = clipped(printable(message), maxDeclared)
		confirmations = append(confirmations, policy.Declared(t.Owner.Name()+"/"+t.Proto.GetName(), message))
	}
	if len(confirmations)+len(approvals) == 0 {
		return nil
	}
	r.required = &requirements{confirmations, approvals, declared}
	r.target.Repeatable = false // the confirmation, or the approval, holds once
	if len(approvals) > 0 {     // The call waits in a task, whatever its tool says.
		r.target.Tasks.Optional, r.target.Tasks.AtOnce = !r.target.Tasks.Required, true
	}
	return nil
}

// confirmationState is the state of a round's confirmations.
type confirmationState byte

const (
	// notRequired means that the round needs no confirmation.
	notRequired confirmationState = iota
	// mustAsk requires an answer that the round does not have.
	mustAsk
	// answered means that the answer to an earlier round's question confirms everything that is
	// required. The quotas were charged in that round.
	answered
	// lapsed means that the previous round asked and was not recorded as allowed, that there is no
	// answer, and that no confirmation is required any more.
	lapsed
)

// setConsent sets the state of the confirmations of a round that has arguments. An answer of the
// round is accepting: endUnconfirmed has handled the others.
func (r *round) setConsent(args json.RawMessage) {
	if r.consent, r.confirmed = notRequired, false; len(r.required.confirmations) == 0 {
		switch {
		case r.before.asked() && r.answer != nil:
			r.consent = answered
		case r.before.asked():
			r.consent = lapsed
		}
		return
	}
	r.consent = mustAsk
	switch {
	case !bytes.Equal(r.before.Call, r.digest(args)) || !r.before.hasAll(r.required.confirmations):
	case r.before.confirmed():
		r.consent, r.confirmed = notRequired, true
		r.setHeld(r.before.Has, r.holds.Approved)
	case r.nonceUsable() && r.answer != nil:
		r.consent = answered
	}
}

// setHeld makes confirmations and approvals those that the round has.
func (r *round) setHeld(has []agreement, approvals []approved) {
	r.holds = &consent{Has: has, Approved: approvals}
}

// nextConsent returns the consent of the next round, whose state is held by the client if isSent is true.
func (r *round) nextConsent(isSent bool) *consent {
	next := &consent{Rounds: r.before.Rounds}
	args, err := r.arguments()
	if !r.confirmed && len(r.holds.Approved) == 0 || err != nil {
		return next
	}
	if next.Call, next.Has, next.Approved = r.digest(args), r.holds.Has, r.holds.Approved; isSent {
		r.issueNonce(next)
	}
	return next
}

// backendRound returns the number of the round as the backend counts it.
func (r *round) backendRound() int { return max(r.call.Round-r.before.Rounds, 1) }
