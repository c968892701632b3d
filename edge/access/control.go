package access

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options of a Control.
type Options struct {
	// Quotas limit calls. nil disables quotas.
	Quotas *quota.Limiter
	// Policy is the initial policy. nil allows everything.
	Policy *policy.Policy
	// External authorizes what the initial policy allows. nil disables it.
	External *external.Client
	// Authenticates enables challenges for more scopes. If false, a request that lacks scopes is
	// denied.
	Authenticates bool
	// Telemetry counts what rules and confirmations in audit mode would have done. nil disables
	// that.
	Telemetry *telemetry.Telemetry
	// Records records the decisions. nil disables the audit.
	Records *audit.Log
	// Logger logs conditions that cannot be evaluated. nil uses slog.Default.
	Logger *slog.Logger
}

// Control authorizes requests. Safe for concurrent use.
type Control struct {
	o Options
	// tokenless is set when the transport cannot carry a token.
	tokenless atomic.Bool
	decider   atomic.Pointer[Decider]
	// asked counts the requests to policy servers by outcome.
	asked [external.Outcomes]atomic.Int64
}

// Decider evaluates one policy, which never changes. A request uses the Decider that was in force
// when it began, even if the policy is replaced meanwhile. Control.InForce returns the current one.
// It is safe for concurrent use.
type Decider struct {
	c *Control
	// policy is nil if every request is allowed.
	policy *policy.Policy
	// external authorizes what the policy allows. nil disables it.
	external *external.Client
	// failing lists the names of the rules whose evaluation error was logged.
	failing atomic.Pointer[[]string]
	// answers caches the policy server's answers about tasks.
	answers *lru.Cache[taskKey, *taskAnswer]
}

// New returns a Control that enforces o.Policy.
func New(o Options) *Control {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	c := &Control{o: o}
	c.SetPolicy(o.Policy, o.External)
	return c
}

// SetPolicy replaces the policy and its policy server. A nil policy allows everything and ignores
// server. A nil server disables the policy server. Requests that hold the previous Decider still
// use it. The previous server may be closed afterwards: see policy.ErrReplaced.
func (c *Control) SetPolicy(p *policy.Policy, server *external.Client) {
	d := &Decider{c: c}
	if p != nil {
		d.policy, d.external = p, server
		d.answers, _ = lru.New[taskKey, *taskAnswer](maxTaskAnswers) // fails only for sizes below 1
	}
	c.decider.Store(d)
}

// InForce returns the current Decider. It is the same pointer until SetPolicy is called.
func (c *Control) InForce() *Decider { return c.decider.Load() }

// WithoutTokens disables challenges, as Options.Authenticates set to false does. It is for stdio,
// which carries no token.
func (c *Control) WithoutTokens() { c.tokenless.Store(true) }

// Policy returns the policy in force, or nil if there is none.
func (c *Control) Policy() *policy.Policy { return c.InForce().policy }

// Decide is the first stage of authorizing a round. It evaluates the rules and scopes of the policy
// for the target t, which must exist. A nil t skips the evaluation.
//
// If they allow the round, Decide returns the Permit for the later stages. Otherwise it records the
// refusal and returns a policy.ErrHidden that names the rule, or a *mcp.Error whose Challenge has
// the missing scopes. An error of args is returned as it is. A round that is retried after the loss
// of its replica is decided again, because the lost replica may not have decided it.
func (x *Decider) Decide(ctx context.Context, rules *revision.Rules, call *mcp.Call, t *policy.Target, args policy.Arguments) (Permit, error) {
	p := Permit{by: x, rules: rules}
	if t == nil {
		return p, nil
	}
	if p.backend = t.Backend; x.policy == nil {
		return p, nil
	}
	tries := x.policy.Tries()
	if tries {
		args = sync.OnceValues(args)
	}
	d, err := x.policy.Decide(&call.Principal, t, args)
	if err != nil {
		return Permit{}, err
	}
	if tries {
		for _, trial := range x.policy.Trials(&call.Principal, t, args, &d) {
			x.c.o.Telemetry.RecordTrial(ctx, trial)
		}
	}
	if d.Err != nil {
		x.report(call, t.Name, &d)
	}
	if p.rule = d.Rule; d.Effect == policy.Allow {
		return p, nil
	}
	v, err := x.refusal(rules, call, &d)
	return Permit{}, x.c.decided(ctx, call, t.Backend, v, err)
}

// closedError returns the error for a request whose policy server was closed.
func (x *Decider) closedError(err error) error {
	if x.c.InForce() != x {
		return policy.ErrReplaced
	}
	return mcp.Errorf(mcp.KindUnavailable, "the server is shutting down; retry: %w", err)
}

// refusal returns the audited verdict and the error of a decision other than Allow.
func (x *Decider) refusal(rules *revision.Rules, call *mcp.Call, d *policy.Decision) (audit.Verdict, error) {
	v := audit.Verdict{Effect: audit.Deny, By: audit.ByPolicy, Rule: d.Rule, Failed: d.Err != nil}
	switch d.Effect {
	case policy.Hide:
		v.Effect = audit.Hide
		return v, fmt.Errorf("%w by policy rule %q", policy.ErrHidden, d.Rule)
	case policy.StepUp:
		v.Effect, v.Missing = audit.StepUp, d.Need
		return v, x.scopeError(rules, call, d)
	}
	denied := mcp.Errorf(mcp.KindForbidden, "forbidden by policy rule %q", d.Rule)
	if d.Err != nil {
		denied.Reason = fmt.Sprintf("policy rule %q could not be evaluated, which denies", d.Rule)
	}
	return v, denied
}

// denial returns the error for an answer of the policy server that denies a request.
func denial(a *external.Answer) *mcp.Error {
	e := &mcp.Error{Kind: mcp.KindForbidden}
	switch {
	case a.Outcome == external.Omitted:
		e.Message = "forbidden: the policy server cannot be sent all of the params: " + a.Reason
	case a.Outcome == external.Failed:
		e.Message, e.Err = "forbidden: the policy server is unavailable; retry later", mcp.ErrUndecided
	case a.Reason != "":
		e.Message = "forbidden by the policy server: " + a.Reason
	default:
		e.Message = "forbidden by the policy server"
	}
	return e
}

// Asked calls fn for each outcome with the number of requests to policy servers that had it.
func (c *Control) Asked(fn func(o external.Outcome, n int64)) {
	for o := range external.Outcomes {
		fn(o, c.asked[o].Load())
	}
}

// scopeError returns the error for a request that lacks the scopes d.Need.
func (x *Decider) scopeError(rules *revision.Rules, call *mcp.Call, d *policy.Decision) *mcp.Error {
	needs := strings.Join(d.Need, " ")
	e := &mcp.Error{Kind: mcp.KindForbidden, Data: mcp.LackingData(d.Need), Challenge: x.challenge(rules, call, d.Need)}
	switch {
	case e.Challenge == nil:
		e.Message = "this needs the scopes " + needs + ", but callers are not authenticated here: require none in the policy, or call over HTTP with an access token"
	case e.Challenge.Anonymous:
		e.Kind = mcp.KindUnauthenticated
		e.Message = "this needs the scopes " + needs + ": send an access token that has them, in the header Authorization: Bearer"
	default:
		e.Message = "this needs the scopes " + needs + ", which the credentials do not all have: call again with credentials that have them"
	}
	return e
}

// Challenges reports whether a request may be answered with a challenge: the policy requires
// scopes, and callers are authenticated.
func (c *Control) Challenges() bool {
	p := c.Policy()
	return p != nil && p.NeedsScopes() && c.o.Authenticates && !c.tokenless.Load()
}

// Restricts reports whether there is a policy, so that a result for one caller must not be served
// to another.
func (x *Decider) Restricts() bool { return x.policy != nil }

// challenge returns the challenge for the scopes of need, or nil if callers are not authenticated.
// In revisions up to 2025-11-25 a client requests only the scopes of the challenge and loses its
// other ones. For these revisions the challenge also has the caller's scopes that the policy uses.
func (x *Decider) challenge(rules *revision.Rules, call *mcp.Call, need []string) *mcp.Challenge {
	if !x.c.o.Authenticates || x.c.tokenless.Load() {
		return nil
	}
	out := &mcp.Challenge{Scopes: slices.Clone(need), Anonymous: call.Principal.Anonymous()}
	if rules.Stateless || x.policy == nil {
		return out
	}
	for _, s := range x.policy.Held(&call.Principal) {
		if !slices.Contains(out.Scopes, s) {
			out.Scopes = append(out.Scopes, s)
		}
	}
	return out
}

// CompleteChallenge replaces the challenge of e, the error of a backend that requires scopes, by
// the challenge that the policy would send for these scopes. It modifies e.
func (x *Decider) CompleteChallenge(rules *revision.Rules, call *mcp.Call, e *mcp.Error) {
	e.Challenge = x.challenge(rules, call, e.Challenge.Scopes)
	if e.Challenge != nil && e.Challenge.Anonymous {
		e.Kind = mcp.KindUnauthenticated
	}
}

// Disabled records that a request for an object of a backend is refused because an operator has
// disabled it. It returns err, or the error of the audit if the refusal cannot be recorded.
func (x *Decider) Disabled(ctx context.Context, call *mcp.Call, backend string, err error) error {
	return x.c.decided(ctx, call, backend, audit.Verdict{Effect: audit.Deny, By: audit.ByOperator, Rule: "disabled"}, err)
}

// report logs the evaluation error of a rule for a call of a target, once for each rule.
func (x *Decider) report(call *mcp.Call, target string, d *policy.Decision) {
	for {
		before := x.failing.Load()
		var names []string
		if before != nil {
			names = *before
		}
		if slices.Contains(names, d.Rule) {
			return
		}
		names = append(slices.Clone(names), d.Rule)
		if x.failing.CompareAndSwap(before, &names) {
			break
		}
	}
	x.c.o.Logger.Warn("the condition of a policy rule could not be evaluated, so the request is denied: test with has() whether a claim or an argument exists",
		"rule", d.Rule, "error", d.Err, "method", string(call.Method), "target", mcp.ClipText(target), "subject", call.Principal.Subject,
		"further", "the audit has them as rule_failed, and mcpedge.policy.failed counts them")
}

// May reports whether the policy allows a request without arguments for t. It does not count the
// decision.
func (x *Decider) May(who *mcp.Principal, t *policy.Target) bool {
	if x.policy == nil {
		return true
	}
	d, err := x.policy.Explain(who, t, func() (map[string]any, error) { return nil, nil })
	return err == nil && d.Effect == policy.Allow
}

// Lists returns the filter of a caller's lists. Callers with equal lists have an equal entitlement.
// listed is nil if every caller gets the whole lists.
func (x *Decider) Lists(who *mcp.Principal) (entitlement string, listed func(*policy.Target) bool) {
	p := x.policy
	if p == nil || !p.Filters() {
		return "", nil
	}
	id := p.ID()
	return string(p.AppendEntitlement(id[:], who)), func(t *policy.Target) bool { return p.Listed(who, t) }
}
