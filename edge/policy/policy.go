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

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Policy decides. Make it with Compile. Safe for concurrent use.
type Policy struct {
	rules   []rule
	last    Effect
	needs   []need
	lists   Lists
	uses    uses
	scopes  scopes
	decided cache
	// denied and failed count by rule; the last but one are those of RuleDefault, the last of RuleScopes.
	denied, failed []atomic.Int64
	id             [8]byte
}

// ErrHidden says that what is named is to be answered for as if it did not exist.
var ErrHidden = errors.New("the policy hides it")

// rule is a Rule, ready for use.
type rule struct {
	name string
	when condition
	then Effect
}

// Compile makes a policy. The error says all that is wrong with the settings, each with its place.
func Compile(s Settings) (*Policy, error) {
	errs := []error{s.validate()}
	env, err := newEnv(maps.Keys(variables))
	if err != nil {
		return nil, err
	}
	p := &Policy{last: s.Default, lists: s.Lists, uses: uses{variables: map[string]bool{}}}
	if p.last == "" {
		p.last = Allow
	}
	if p.lists == "" {
		p.lists = Obtainable
	}
	for i, r := range s.Rules {
		when, err := compile(env, r.When, &p.uses)
		if err != nil {
			errs = append(errs, fmt.Errorf("rules[%d] %s: when: %w", i, r.Name, err))
		}
		p.rules = append(p.rules, rule{r.Name, when, r.Then})
	}
	if err := errors.Join(errs...); err != nil {
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
	p.denied, p.failed = make([]atomic.Int64, len(p.rules)+2), make([]atomic.Int64, len(p.rules)+2)
	return p, nil
}

// Claims are the names of the claims that rules look at, beside what a principal has of itself; all: any claim may be.
func (p *Policy) Claims() (names []string, all bool) { return p.uses.claims, p.uses.allClaims }

// UsesRoles reports whether rules look at the caller's roles.
func (p *Policy) UsesRoles() bool { return p.uses.variables[varRoles] }

// ID tells policies with different settings apart. It is the same on every replica.
func (p *Policy) ID() [8]byte { return p.id }

// Filters says whether lists may lack entries that exist.
func (p *Policy) Filters() bool {
	return len(p.rules) > 0 || p.last != Allow || p.lists == Allowed && len(p.needs) > 0
}

// Decision is what a policy says of an operation.
type Decision struct {
	// Effect is Allow, Hide, Deny or StepUp.
	Effect Effect
	// Rule that decided: its name, RuleDefault or RuleScopes.
	Rule string
	// Need are all scopes of the operation, some of which the caller lacks; of StepUp only.
	Need []string
	// Open: it depends on the arguments, which are not known. Effect and Rule are then those of the rule that looks at them, if
	// it holds.
	Open bool
	// Form is the form of the URI or template that it was decided on; empty: the target's name.
	Form string
	// Err is why a condition could not be evaluated, which denies; else nil.
	Err error

	// at is the index of the rule.
	at int
	// hiddenBy, of an open one, is the index of the rule that hides it unless one decides that looks at arguments, none of which
	// allows; -1: it is not hidden so.
	hiddenBy int
	// listed: with the arguments that are not known, if any, it may be allowed or need a step-up only.
	listed bool
}

// Arguments gives the arguments of a call, decoded as encoding/json does. It is called once at most, and only if rules look
// at them.
type Arguments func() (map[string]any, error)

// Decide decides on an operation, which is counted. The error is that of args.
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

// Explain is Decide without being counted. With args nil they are not known: the decision may be open. A URI or a template
// that has other forms is allowed if it is in each, see uris.Forms, and with the variables of each template that matches: a backend may
// take it for any of them.
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
			Err: fmt.Errorf("more than %d templates of the backend match %.200q, each with other variables: have fewer that match the same", MaxReadings, t.Name)}, nil
	}
	for other := range t.others(n) {
		if read, err := p.explain(who, other, args); err != nil || read.Effect != Allow {
			if other.Name != t.Name {
				read.Form = other.Name
			}
			return read, err
		}
	}
	return d, nil
}

// templates is how many templates, each with other variables, rules have to hold for, at least 1.
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
	return p.evaluate(&values{who: who, target: t, arguments: known, known: true}, d.at), nil
}

// Listed says whether an entry is listed for a caller: it may be used, or could be with arguments that suit it or, with
// Obtainable, with further scopes.
func (p *Policy) Listed(who *mcp.Principal, t *Target) bool {
	if listed := p.without(who, t).listed; !listed || t.Kind == Tool || t.Kind == Prompt {
		return listed
	}
	n := p.templates(t)
	if n > MaxReadings {
		return false
	}
	for other := range t.others(n) {
		if !p.without(who, other).listed {
			return false
		}
	}
	return true
}

// without decides without arguments, and remembers it.
func (p *Policy) without(who *mcp.Principal, t *Target) Decision {
	if len(p.rules) == 0 {
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

// evaluate decides from a rule on: those before it do not hold.
func (p *Policy) evaluate(v *values, from int) Decision {
	var open *Decision
	possible := false // with the arguments that are not known, something that is open may be allowed
	for i := from; i < len(p.rules); i++ {
		r := &p.rules[i]
		truth, err := r.when.holds(v)
		d := Decision{Effect: r.then, Rule: r.name, at: i}
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
	return p.conclude(v, Decision{Effect: p.last, Rule: RuleDefault, at: len(p.rules)}, open, possible)
}

// conclude holds what rules say against scopes. open is the first rule that depends on the arguments, if any does.
func (p *Policy) conclude(v *values, d Decision, open *Decision, possible bool) Decision {
	may := d.Effect == Allow || possible
	if may {
		need, ok := p.lacks(v)
		may = ok || p.lists == Obtainable
		if !ok && d.Effect == Allow {
			d.Effect, d.Rule, d.Need, d.at = StepUp, RuleScopes, need, len(p.rules)+1
		}
	}
	if open != nil {
		hiddenBy := -1
		if d.Effect == Hide && !possible {
			hiddenBy = d.at
		}
		d = *open
		d.hiddenBy = hiddenBy
	}
	d.listed = may
	return d
}

// NeedsScopes says whether some operation needs scopes.
func (p *Policy) NeedsScopes() bool { return len(p.needs) > 0 }

// lacks are the scopes of an operation, unless the caller has them all.
func (p *Policy) lacks(v *values) (need []string, ok bool) {
	for i := range p.needs {
		if n := &p.needs[i]; n.about(v.target) {
			for _, s := range n.scopes {
				if !p.scopes.has(v.who.Scopes, s) {
					return n.scopes, false
				}
			}
			break
		}
	}
	return nil, true
}

// Denied calls fn with how many operations each rule has not allowed so far, and with how many of them its condition could
// not be evaluated. RuleDefault and RuleScopes are among the rules.
func (p *Policy) Denied(fn func(rule string, denied, failed int64)) {
	for i := range p.denied {
		fn(p.name(i), p.denied[i].Load(), p.failed[i].Load())
	}
}

// name is that of the rule with an index, RuleDefault and RuleScopes among them.
func (p *Policy) name(i int) string {
	switch {
	case i < len(p.rules):
		return p.rules[i].name
	case i == len(p.rules):
		return RuleDefault
	}
	return RuleScopes
}

// Held are those of the caller's scopes that the policy names: a client that asks for these and for what an operation needs
// keeps what it can do.
func (p *Policy) Held(who *mcp.Principal) (out []string) {
	for _, s := range who.Scopes {
		if _, named := p.scopes.by[s]; named && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// scopes knows which scope includes which.
type scopes struct {
	// by are the scopes that the policy names, each with the scopes that include it, itself among them.
	by map[string][]string
	// order is the index of each.
	order map[string]int
}

func newScopes(s *Settings) scopes {
	out := scopes{map[string][]string{}, map[string]int{}}
	name := func(list ...string) {
		for _, scope := range list {
			if _, known := out.by[scope]; !known {
				out.order[scope] = len(out.by)
				out.by[scope] = []string{scope}
			}
		}
	}
	for _, one := range s.Scopes {
		name(one.Need...)
	}
	for _, above := range sortedKeys(s.Hierarchy) {
		name(above)
		name(s.Hierarchy[above]...)
	}
	for _, above := range sortedKeys(s.Hierarchy) {
		for _, scope := range included(s.Hierarchy, s.Hierarchy[above]) {
			out.by[scope] = append(out.by[scope], above)
		}
	}
	return out
}

// has says whether somebody with these scopes has one, itself or by one that includes it.
func (s *scopes) has(held []string, scope string) bool {
	for _, by := range s.by[scope] {
		if slices.Contains(held, by) {
			return true
		}
	}
	return false
}
