package policy

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"cel.dev/cel-go/cel"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Policy evaluates rules and scopes. Use Compile to create one. Safe for concurrent use.
type Policy struct {
	rules   []rule
	last    Effect
	needs   []need
	lists   Lists
	uses    uses
	scopes  scopes
	decided cache
	// restrictions apply to what rules allow.
	restrictions restrictions
	// confirms are the confirmations and approvals for calls of tools that all of the above allow.
	confirms confirms
	trials   trials
	// denied and failed count refusals and evaluation errors by rule. The rules include RuleDefault,
	// RuleScopes, and those of restrictions, confirmations and approvals.
	denied, failed []atomic.Int64
	id             [8]byte
}

// ErrHidden means that the request must be answered as if its target did not exist.
var ErrHidden = errors.New("hidden")

// ErrReplaced means that a request was not decided, because the policy server of the policy by which
// it is decided was closed before it was asked. The policy was replaced; the request can be decided
// again by the one in force.
var ErrReplaced = errors.New("the policy was replaced while the request was decided")

// rule is a compiled Rule.
type rule struct {
	name string
	when condition
	then Effect
	// place is the file and the line of a rule of a Restriction; empty if they are not known.
	place string
}

// Compile returns the policy of settings. The error lists all invalid settings with their paths.
func Compile(s Settings) (*Policy, error) {
	errs := []error{s.validate()}
	env, err := ruleEnv()
	if err != nil {
		return nil, err
	}
	p := &Policy{last: s.Default, lists: s.Lists, uses: uses{variables: map[string]bool{}}, trials: trials{uses: uses{variables: map[string]bool{}}}}
	if p.last == "" {
		p.last = Allow
	}
	if p.lists == "" {
		p.lists = Obtainable
	}
	for i, r := range s.Rules {
		if r.Mode == Audit {
			if err := p.trials.add(env, &r, len(p.rules)); err != nil {
				errs = append(errs, fmt.Errorf("rules[%d] %s: when: %w", i, r.Name, err))
			}
			continue
		}
		when, err := compile(env, r.When, &p.uses, check)
		if err != nil {
			errs = append(errs, fmt.Errorf("rules[%d] %s: when: %w", i, r.Name, err))
		}
		p.rules = append(p.rules, rule{name: r.Name, when: when, then: r.Then})
	}
	for i := range s.Restrictions {
		errs = append(errs, p.restrictions.add(&s.Restrictions[i], env, &p.uses, &p.trials))
	}
	first := len(p.rules) + ownNames + len(p.restrictions.rules)
	p.confirms, err = compileConfirms(&s, first, &p.trials)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	for _, one := range s.Scopes {
		p.needs = append(p.needs, newNeed(one))
	}
	p.scopes = newScopes(&s)
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	copy(p.id[:], sum[:])
	n := first + len(p.confirms.all)
	p.denied, p.failed = make([]atomic.Int64, n), make([]atomic.Int64, n)
	return p, nil
}

// ownNames is the number of names of decisions without a rule: RuleDefault and RuleScopes.
const ownNames = 2

// ruleEnv returns the CEL environment of conditions.
func ruleEnv() (*cel.Env, error) { return newEnv(maps.Keys(variables)) }

// Claims returns the names of the claims that rules, confirmations and approvals inspect, in
// addition to the other attributes of a principal. all is true if one inspects claims whose names
// are not constant.
func (p *Policy) Claims() (names []string, all bool) {
	names = slices.Concat(p.uses.claims, p.confirms.uses.claims, p.trials.uses.claims)
	slices.Sort(names)
	return slices.Compact(names), p.uses.allClaims || p.confirms.uses.allClaims || p.trials.uses.allClaims
}

// UsesRoles reports whether rules, confirmations or approvals inspect the caller's roles.
func (p *Policy) UsesRoles() bool {
	return p.uses.variables[varRoles] || p.confirms.uses.variables[varRoles] || p.trials.uses.variables[varRoles]
}

// ID is a digest of the settings, equal on all replicas.
func (p *Policy) ID() [8]byte { return p.id }

// SamePlaces reports whether both policies have the same places of rules of Restrictions. other may be nil.
func (p *Policy) SamePlaces(other *Policy) bool {
	return other != nil && slices.EqualFunc(p.restrictions.rules, other.restrictions.rules, func(a, b rule) bool { return a.place == b.place })
}

// Filters reports whether the policy may remove entries from lists.
func (p *Policy) Filters() bool {
	return len(p.rules) > 0 || p.last != Allow || len(p.restrictions.rules) > 0 || p.lists == Allowed && p.NeedsScopes()
}

// Decision is the result of evaluating a policy for an operation.
type Decision struct {
	// Effect is Allow, Hide, Deny or StepUp.
	Effect Effect
	// Rule is the name of the rule that decided, RuleDefault or RuleScopes. That of a Restriction is
	// qualified by its owner.
	Rule string
	// Need are all scopes that the operation requires. It is set for StepUp only.
	Need []string
	// Lacks are all scopes that an open decision requires where it allows, if the caller lacks any
	// of them.
	Lacks []string
	// Open reports that the decision depends on unknown arguments. Effect and Rule are then those
	// of the first rule that inspects them, if its condition is true.
	Open bool
	// Form is the form of the URI or template that was evaluated, or empty for the target's name.
	Form string
	// Err is the error of a condition that could not be evaluated, which denies the operation.
	Err error

	// at is the index of the rule in the counts, and from that of the rule from which an open decision is
	// evaluated again once the arguments are known.
	at, from int
	// hiddenBy, in an open decision, is the index of the rule that hides the target unless a rule
	// that inspects arguments applies. It is -1 if there is none, or if one of the latter allows.
	hiddenBy int
	// listed reports whether the operation is allowed, or requires a step-up only, for some values
	// of unknown arguments.
	listed bool
}

// Arguments returns the arguments of a call, decoded as by encoding/json. It is called at most
// once, and only if rules inspect them.
type Arguments func() (map[string]any, error)

// Decide evaluates the policy for an operation and counts a refusal. The error is the error of
// args.
func (p *Policy) Decide(who *mcp.Principal, t *Target, args Arguments) (Decision, error) {
	d, err := p.Explain(who, t, args)
	if err != nil {
		return d, err
	}
	if d.Effect != Allow && !d.Open {
		p.denied[d.at].Add(1)
	}
	if d.Err != nil {
		p.failed[d.at].Add(1)
	}
	return d, nil
}

// Explain evaluates the policy as Decide does, without counting. If args is nil, the arguments are
// unknown and the decision may be open.
//
// A URI or a template is allowed only if each of its forms is (see uris.Forms), with the variables
// of each matching template, because a backend may read it as any of them. A listed URI may lack
// parts for which only the default refuses: see Target.IsListed.
func (p *Policy) Explain(who *mcp.Principal, t *Target, args Arguments) (Decision, error) {
	if t.Vars != nil {
		once := *t
		once.Vars = sync.OnceValue(t.Vars)
		t = &once
	}
	d, err := p.explain(who, t, args)
	if err != nil || d.Effect != Allow || t.Kind == Tool || t.Kind == Prompt {
		return d, err
	}
	n := p.templates(t)
	if n > MaxReadings {
		return Decision{Effect: Deny, Rule: RuleDefault, at: len(p.rules),
			Err: fmt.Errorf("more than %d templates of the backend match %.200q, with different variables: have fewer templates that match the same URI", MaxReadings, t.Name)}, nil
	}
	for other := range t.others(n) {
		if read, err := p.explain(who, other, args); err != nil || read.Effect != Allow && !t.excuses(other.Name, &read) {
			if other.Name != t.Name {
				read.Form = other.Name
			}
			return read, err
		}
	}
	return d, nil
}

// templates returns the number of sets of template variables to evaluate, at least 1.
func (p *Policy) templates(t *Target) int {
	if t.Kind != Resource || t.Vars == nil || !p.uses.variables[varVars] {
		return 1
	}
	return max(1, len(t.Vars()))
}

func (p *Policy) explain(who *mcp.Principal, t *Target, args Arguments) (Decision, error) {
	d := p.without(who, t)
	if !d.Open || args == nil {
		return d, nil
	}
	known, err := args()
	if err != nil {
		if d.hiddenBy >= 0 {
			return Decision{Effect: Hide, Rule: p.name(d.hiddenBy), at: d.hiddenBy}, nil
		}
		return Decision{}, err
	}
	return p.evaluate(&values{who: who, target: t, arguments: known, known: true}, d.from), nil
}

// Listed reports whether an entry is listed for a caller: the operation is allowed for some
// arguments or, with Obtainable, would be with more scopes.
func (p *Policy) Listed(who *mcp.Principal, t *Target) bool {
	if listed := p.without(who, t).listed; !listed || t.Kind == Tool || t.Kind == Prompt {
		return listed
	}
	n := p.templates(t)
	if n > MaxReadings {
		return false
	}
	for other := range t.others(n) {
		if d := p.without(who, other); !d.listed && !t.excuses(other.Name, &d) {
			return false
		}
	}
	return true
}

// without returns the cached decision without arguments, or evaluates and caches it.
func (p *Policy) without(who *mcp.Principal, t *Target) Decision {
	if len(p.rules)+len(p.restrictions.rules) == 0 {
		return p.evaluate(&values{who: who, target: t}, 0)
	}
	var space [256]byte
	key := p.appendTarget(p.AppendEntitlement(space[:0], who), t)
	if d, ok := p.decided.get(key); ok {
		return d
	}
	d := p.evaluate(&values{who: who, target: t}, 0)
	p.decided.put(key, d)
	return d
}

// evaluate evaluates the rules from an index on. The conditions before it are false.
func (p *Policy) evaluate(v *values, from int) Decision {
	var open *Decision
	possible := false // an open rule may allow, depending on unknown arguments
	for i := from; i < len(p.rules); i++ {
		r := &p.rules[i]
		truth, err := r.when.holds(v)
		d := Decision{Effect: r.then, Rule: r.name, at: i, from: i}
		switch {
		case err != nil:
			d.Effect, d.Err = Deny, err
		case truth == isOpen:
			d.Open = true
			if open == nil {
				open = &d
			}
			possible = possible || r.then == Allow
			continue
		case truth == isFalse:
			continue
		}
		return p.conclude(v, d, open, possible)
	}
	return p.conclude(v, Decision{Effect: p.last, Rule: RuleDefault, at: len(p.rules), from: len(p.rules)}, open, possible)
}

// conclude applies the restrictions and the scopes to the decision of the rules. open is the first
// open decision, or nil. possible reports that an open rule may allow.
func (p *Policy) conclude(v *values, d Decision, open *Decision, possible bool) Decision {
	if d.Effect != Allow && !possible {
		return withOpen(d, open, d.Effect == Hide, nil)
	}
	refused, conditional := p.restrict(v)
	if open == nil && conditional != nil {
		conditional.from = d.from
		open = conditional
	}
	if refused != nil {
		hidden := d.Effect != Deny && refused.Effect == Hide
		if d.Effect == Allow {
			refused.from = d.from
			d = *refused
		}
		return withOpen(d, open, hidden, nil)
	}
	need, ok := p.lacks(v)
	if !ok && d.Effect == Allow {
		d.Effect, d.Rule, d.Need, d.at = StepUp, RuleScopes, need, len(p.rules)+1
	}
	d = withOpen(d, open, false, need)
	d.listed = ok || p.lists == Obtainable
	return d
}

// withOpen returns open if it is not nil, and d otherwise. hides means that d hides the target if
// no open rule applies. lacks are the scopes that the caller lacks for allowed requests.
func withOpen(d Decision, open *Decision, hides bool, lacks []string) Decision {
	if open == nil {
		return d
	}
	hiddenBy := -1
	if hides {
		hiddenBy = d.at
	}
	d = *open
	d.hiddenBy, d.Lacks = hiddenBy, lacks
	return d
}

// NeedsScopes reports whether an operation requires scopes.
func (p *Policy) NeedsScopes() bool { return len(p.needs)+len(p.restrictions.needs) > 0 }

// Denied calls fn for each rule with the number of operations that it has refused, and how many of
// these had an evaluation error. The rules include RuleDefault, RuleScopes, confirmations and
// approvals.
func (p *Policy) Denied(fn func(rule string, denied, failed int64)) {
	for i := range p.denied {
		fn(p.name(i), p.denied[i].Load(), p.failed[i].Load())
	}
}

// name returns the name of the rule at an index of the counts.
func (p *Policy) name(i int) string {
	switch {
	case i < len(p.rules):
		return p.rules[i].name
	case i == len(p.rules):
		return RuleDefault
	case i == len(p.rules)+1:
		return RuleScopes
	}
	if i -= len(p.rules) + ownNames; i < len(p.restrictions.rules) {
		return p.restrictions.rules[i].name
	}
	return p.confirms.all[i-len(p.restrictions.rules)].Name
}

// Held returns the caller's scopes that the policy names. A client that requests them together with
// those that an operation requires loses no permission.
func (p *Policy) Held(who *mcp.Principal) (out []string) {
	for _, s := range who.Scopes {
		if _, named := p.scopes.by[s]; named && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
