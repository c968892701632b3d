package access

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// Options of a Control.
type Options struct {
	// Quotas limit calls; nil: nothing is limited.
	Quotas *quota.Limiter
	// Policy that is in force at first; nil: everything is allowed.
	Policy *policy.Policy
	// External is asked about what that policy allows; nil: nobody is.
	External *external.Client
	// Authenticates: clients can be told to get an access token. Else who lacks scopes is denied.
	Authenticates bool
	// Records has the decisions recorded; nil: they are not.
	Records *audit.Log
	// Logger hears of conditions that cannot be evaluated; nil: slog.Default().
	Logger *slog.Logger
}

// Control decides whether calls may be made. Safe for concurrent use.
type Control struct {
	o Options
	// tokenless: there is no way to send a token.
	tokenless atomic.Bool
	policy    atomic.Pointer[inForce]
	// asked counts what the policy servers were asked, by outcome.
	asked [external.Outcomes]atomic.Int64
}

// inForce is a policy and what was said of it.
type inForce struct {
	*policy.Policy
	// external is asked about what the policy allows; nil: nobody is.
	external *external.Client
	// failing are the names of the rules whose failure was logged.
	failing atomic.Pointer[[]string]
	// answers of the policy server about tasks, by taskKey.
	answers *lru.Cache[taskKey, *taskAnswer]
}

// New makes a Control.
func New(o Options) *Control {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	c := &Control{o: o}
	c.SetPolicy(o.Policy, o.External)
	return c
}

// SetPolicy puts a policy in force, and who is asked about what it allows; nil: everything is allowed, and nobody is asked.
// Who was asked before may be closed then: what was about to be asked is decided anew.
func (c *Control) SetPolicy(p *policy.Policy, server *external.Client) {
	if p == nil {
		c.policy.Store(nil)
		return
	}
	f := &inForce{Policy: p, external: server}
	f.answers, _ = lru.New[taskKey, *taskAnswer](maxTaskAnswers) // it fails for less than 1 only
	c.policy.Store(f)
}

// WithoutTokens denies who lacks scopes, as without Options.Authenticates: over stdio nobody can send a token.
func (c *Control) WithoutTokens() { c.tokenless.Store(true) }

// Policy is the one in force; nil: there is none.
func (c *Control) Policy() *policy.Policy {
	if p := c.policy.Load(); p != nil {
		return p.Policy
	}
	return nil
}

// Decide is the first stage of the decision on a round: rules and scopes decide on what the request names, which exists. If they permit it, err is
// nil and rule is the name of the rule that does, empty without a policy. Else err is a *mcp.Error, whose Challenge names the scopes that are
// missing, policy.ErrHidden, or the error of args. A round that is run again after its replica was lost is decided on again, since the lost
// replica may not have done so. A refusal is recorded.
func (c *Control) Decide(ctx context.Context, rules *revision.Rules, call *mcp.Call, t *policy.Target, args policy.Arguments) (rule string, err error) {
	p := c.policy.Load()
	if p == nil {
		return "", nil
	}
	d, err := p.Decide(&call.Principal, t, args)
	if err != nil {
		return "", err
	}
	if d.Err != nil {
		c.report(p, &d)
	}
	if d.Effect == policy.Allow {
		return d.Rule, nil
	}
	v, err := c.refusal(p, rules, call, &d)
	return "", c.decided(ctx, call, t.Backend, v, err)
}

// Admit is the second stage: the policy server decides on what the rules allowed, and then, for a call of a tool, the quotas. It returns once
// they have. backend is that of what the request names; empty: it does not exist for the caller, no rule applied, and only the policy server
// decides. rule is what Decide returned. nil permits the request, which is recorded for a call of a tool. Else it is a *mcp.Error.
func (c *Control) Admit(ctx context.Context, rules *revision.Rules, call *mcp.Call, backend, rule string) error {
	p := c.policy.Load()
	if p != nil && p.external != nil {
		err := c.ask(ctx, p.external, call, backend)
		if errors.Is(err, external.ErrClosed) && c.policy.Load() != p {
			return c.Admit(ctx, rules, call, backend, rule) // Another policy is in force, with a server of its own, or none.
		}
		if err != nil {
			return err
		}
	}
	if call.Method != mcp.MethodToolsCall {
		return nil
	}
	return c.admitTool(ctx, rules, call, backend, rule)
}

// refusal is what follows from a decision that does not allow.
func (c *Control) refusal(p *inForce, rules *revision.Rules, call *mcp.Call, d *policy.Decision) (audit.Verdict, error) {
	v := audit.Verdict{Effect: audit.Deny, By: audit.ByPolicy, Rule: d.Rule}
	switch d.Effect {
	case policy.Hide:
		v.Effect = audit.Hide
		return v, policy.ErrHidden
	case policy.StepUp:
		v.Effect, v.Missing = audit.StepUp, d.Need
		return v, c.lacking(p, rules, call, d)
	}
	return v, mcp.Errorf(mcp.KindForbidden, "you may not: the policy of this server denies it, by its rule %q", d.Rule)
}

// ask asks the policy server about what the policy allows of a backend; empty: of none.
func (c *Control) ask(ctx context.Context, server *external.Client, call *mcp.Call, backend string) error {
	a, err := server.Ask(ctx, call)
	if errors.Is(err, external.ErrClosed) {
		return mcp.Errorf(mcp.KindUnavailable, "the server ends: %w", err)
	}
	if err != nil {
		return err
	}
	c.asked[a.Outcome].Add(1)
	v := audit.Verdict{Effect: audit.Deny, By: audit.ByExternal, Rule: a.Outcome.String()}
	switch {
	case a.Allow && a.Outcome == external.Failed:
		v.Effect = audit.Allow
		return c.decided(ctx, call, backend, v, nil)
	case a.Allow:
		return nil
	}
	return c.decided(ctx, call, backend, v, denial(&a))
}

// denial is the error of an answer of the policy server that does not allow.
func denial(a *external.Answer) *mcp.Error {
	e := &mcp.Error{Kind: mcp.KindForbidden}
	switch {
	case a.Outcome == external.Omitted:
		e.Message = "you may not: the policy server of this server cannot be shown all of the params: " + a.Reason
	case a.Outcome == external.Failed:
		e.Message = "you may not: the policy server of this server cannot be asked, and without it this is denied: try again later"
	case a.Reason != "":
		e.Message = "you may not: the policy server denies it: " + a.Reason
	default:
		e.Message = "you may not: the policy server denies it"
	}
	return e
}

// Asked calls fn with how many requests policy servers were asked about so far, by outcome.
func (c *Control) Asked(fn func(o external.Outcome, n int64)) {
	for o := range external.Outcomes {
		fn(o, c.asked[o].Load())
	}
}

// lacking asks for scopes. Up to 2025-11-25 a client forgets those that it had when it asks for others, so that the
// challenge has them, too.
func (c *Control) lacking(p *inForce, rules *revision.Rules, call *mcp.Call, d *policy.Decision) *mcp.Error {
	needs := strings.Join(d.Need, " ")
	e := &mcp.Error{Kind: mcp.KindForbidden, Data: mcp.LackingData(d.Need), Challenge: c.challenge(p, rules, call, d.Need)}
	switch {
	case e.Challenge == nil:
		e.Message = "this needs the scopes " + needs + ", and nobody is authenticated here: have the policy need none, or call over HTTP with an access token"
	case e.Challenge.Anonymous:
		e.Kind = mcp.KindUnauthenticated
		e.Message = "this needs the scopes " + needs + ": send an access token that has them, in the header Authorization: Bearer"
	default:
		e.Message = "this needs the scopes " + needs + ", which the credentials do not all have: get an access token with them"
	}
	return e
}

// Challenges says whether a request may be answered by asking for other credentials: the policy has scopes, and callers are authenticated.
func (c *Control) Challenges() bool {
	p := c.policy.Load()
	return p != nil && p.NeedsScopes() && c.o.Authenticates && !c.tokenless.Load()
}

// Restricts says whether a policy is in force, so that what came of a request may be nothing for other callers.
func (c *Control) Restricts() bool { return c.policy.Load() != nil }

// challenge asks a caller for credentials with scopes; nil: nobody is authenticated, so that there are none to be had.
func (c *Control) challenge(p *inForce, rules *revision.Rules, call *mcp.Call, need []string) *mcp.Challenge {
	if !c.o.Authenticates || c.tokenless.Load() {
		return nil
	}
	out := &mcp.Challenge{Scopes: slices.Clone(need), Anonymous: call.Principal.Anonymous()}
	if rules.Stateless || p == nil || p.Policy == nil {
		return out
	}
	for _, s := range p.Held(&call.Principal) {
		if !slices.Contains(out.Scopes, s) {
			out.Scopes = append(out.Scopes, s)
		}
	}
	return out
}

// Lacking completes an error by which a backend asks for scopes, those of its Challenge, with what the policy's own challenges
// have. It changes e, which is the caller's.
func (c *Control) Lacking(rules *revision.Rules, call *mcp.Call, e *mcp.Error) {
	e.Challenge = c.challenge(c.policy.Load(), rules, call, e.Challenge.Scopes)
	if e.Challenge != nil && e.Challenge.Anonymous {
		e.Kind = mcp.KindUnauthenticated
	}
}

// report logs the first failure of a rule.
func (c *Control) report(p *inForce, d *policy.Decision) {
	for {
		before := p.failing.Load()
		var names []string
		if before != nil {
			names = *before
		}
		if slices.Contains(names, d.Rule) {
			return
		}
		names = append(slices.Clone(names), d.Rule)
		if p.failing.CompareAndSwap(before, &names) {
			break
		}
	}
	c.o.Logger.Warn("the condition of a policy's rule could not be evaluated, which denies: ask with has() whether a claim or an argument is there",
		"rule", d.Rule, "error", d.Err)
}

// May says whether a caller may do something that has no arguments, as far as the policy says it. Nothing is counted.
func (c *Control) May(who *mcp.Principal, t *policy.Target) bool {
	p := c.policy.Load()
	if p == nil {
		return true
	}
	d, err := p.Explain(who, t, func() (map[string]any, error) { return nil, nil })
	return err == nil && d.Effect == policy.Allow
}

// Lists gives what decides on the lists of a caller. listed nil: everybody sees all of them.
func (c *Control) Lists(who *mcp.Principal) (entitlement string, listed func(*policy.Target) bool) {
	p := c.policy.Load()
	if p == nil || !p.Filters() {
		return "", nil
	}
	id := p.ID()
	return string(p.AppendEntitlement(id[:], who)), func(t *policy.Target) bool { return p.Listed(who, t) }
}

// admitTool decides by the quotas on a round of a call of a tool, which the backend serves under call.Params.Target. nil: it
// may be made. A call beyond a quota is a *mcp.Error of KindLimit that says when to try again. A call of a session, or a task, is counted
// and recorded once, with its first round. If that is run again after its replica was lost, it is recorded again, and not
// counted. Other calls without sessions are counted in each round: that is a request of its own, which a client can send as often as it likes.
func (c *Control) admitTool(ctx context.Context, rules *revision.Rules, call *mcp.Call, backend, rule string) error {
	again := call.Begun && (!rules.Stateless || call.Task != nil)
	if again && (call.Round > 1 || call.Attempt == 1) {
		return nil
	}
	v := audit.Verdict{Effect: audit.Allow}
	if rule != "" {
		v.By, v.Rule = audit.ByPolicy, rule
	}
	if again || c.o.Quotas == nil {
		return c.decided(ctx, call, backend, v, nil)
	}
	err := c.o.Quotas.Spend(ctx, &quota.Call{Principal: call.Principal, From: call.From, Tool: call.Params.Target, Backend: backend})
	var refused *quota.Refused
	switch {
	case err == nil:
		v.By = cmp.Or(v.By, audit.ByQuota)
		return c.decided(ctx, call, backend, v, nil)
	case errors.As(err, &refused):
		return c.decided(ctx, call, backend, audit.Verdict{Effect: audit.Deny, By: audit.ByQuota, Rule: refused.Rule},
			&mcp.Error{Kind: mcp.KindLimit, Message: err.Error(), RetryAfter: refused.Wait, Err: err})
	}
	return mcp.Errorf(mcp.KindCancelled, "the call ended before its quota was known: %w", err)
}
