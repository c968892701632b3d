package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"cel.dev/cel-go/cel"
)

// Restriction has rules, scopes and approvals that can only restrict. They apply to requests that
// Settings.Rules allow, and only to targets of Backends.
type Restriction struct {
	// Owner qualifies the names of the rules in decisions, as in "crm/no-deletes". It is unique and not
	// empty.
	Owner string
	// Backends are the names of the backends that are restricted.
	Backends []string
	// Rules are evaluated in order. The first one whose condition is true decides. Then is Hide or Deny.
	Rules []Rule
	// Places are the file and the line of each rule, for errors of its evaluation. nil names none.
	Places []string `json:"-"`
	// Scopes are required in addition to Settings.Scopes. The first element that applies decides.
	Scopes []Scopes
	// Approve are the approvals that are required in addition to Settings.Approve.
	Approve []Approve `json:",omitempty"`
}

// Qualified returns the name of a rule in decisions.
func (r *Restriction) Qualified(rule string) string { return r.Owner + "/" + rule }

// Validate returns an error with all invalid rules and scopes, each with its path.
func (r *Restriction) Validate() error {
	env, err := ruleEnv()
	if err != nil {
		return err
	}
	used := &uses{variables: map[string]bool{}}
	_, _, err = r.compile(env, used, used)
	return errors.Join(r.validate(), err, r.validateApproves(used))
}

// validateApproves returns an error with all invalid approvals, each with its path.
func (r *Restriction) validateApproves(used *uses) error {
	env, err := confirmEnv()
	if err != nil {
		return err
	}
	a := r.approves()
	a.owner = nil // paths are those in the file
	errs := []error{a.validate()}
	for i := range a.list {
		_, err := a.compile(env, i, used)
		for _, err := range unjoin(err) {
			errs = append(errs, fmt.Errorf("%s %s: %w", a.place(i), a.list[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// validate is Validate without the conditions.
func (r *Restriction) validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	names := map[string]bool{}
	for i, one := range r.Rules {
		switch {
		case one.Name == "" || strings.ContainsFunc(one.Name, func(c rune) bool { return !unicode.IsPrint(c) }):
			wrong("rules[%d]: name: %q: give the rule a name, of characters that can be printed", i, one.Name)
		case names[one.Name]:
			wrong("rules[%d]: name: %q is used twice: give each rule its own", i, one.Name)
		}
		names[one.Name] = true
		if one.Mode.wrong() {
			wrong("rules[%d] %s: mode: %q: use enforce or audit", i, one.Name, one.Mode)
		}
		if one.Then != Hide && one.Then != Deny {
			wrong("rules[%d] %s: then: %q: a rule that restricts has hide or deny", i, one.Name, one.Then)
		}
	}
	return errors.Join(append(errs, invalidScopes(r.Scopes)...)...)
}

// place returns the file and the line of a rule; empty if they are not known.
func (r *Restriction) place(i int) string {
	if i < len(r.Places) {
		return r.Places[i]
	}
	return ""
}

// compile returns the compiled rules with their qualified names, and the rules in audit mode, each
// with the index of the next rule in force.
func (r *Restriction) compile(env *cel.Env, u, tried *uses) (out []rule, trials []trial, _ error) {
	var errs []error
	for i, one := range r.Rules {
		used := u
		if one.Mode == Audit {
			used = tried
		}
		when, err := compile(env, one.When, used, checkBounded)
		if err != nil {
			errs = append(errs, fmt.Errorf("rules[%d] %s: when: %w", i, one.Name, err))
		}
		compiled := rule{r.Qualified(one.Name), when, one.Then, r.place(i)}
		if one.Mode == Audit {
			trials = append(trials, trial{rule: compiled, before: len(out), backends: append([]string{}, r.Backends...)})
			continue
		}
		out = append(out, compiled)
	}
	return out, trials, errors.Join(errs...)
}

// restrictions are the compiled Restrictions of a policy. The zero value restricts nothing.
type restrictions struct {
	rules []rule
	// of maps each backend to the indexes of its rules, and needs to its scopes, a list for each
	// Restriction.
	of    map[string][]int
	needs map[string][][]need
}

// add compiles a Restriction.
func (r *restrictions) add(s *Restriction, env *cel.Env, u *uses, x *trials) error {
	compiled, tried, err := s.compile(env, u, &x.uses)
	if err = errors.Join(s.validate(), err); err != nil {
		return fmt.Errorf("restrictions of %s: %w", s.Owner, err)
	}
	if r.of == nil {
		r.of, r.needs = map[string][]int{}, map[string][][]need{}
	}
	var needs []need
	for _, one := range s.Scopes {
		needs = append(needs, newNeed(one))
	}
	for _, b := range s.Backends {
		for i := range compiled {
			r.of[b] = append(r.of[b], len(r.rules)+i)
		}
		if len(needs) > 0 {
			r.needs[b] = append(r.needs[b], needs)
		}
	}
	for _, one := range tried {
		one.before += len(r.rules)
		x.rules = append(x.rules, one)
	}
	r.rules = append(r.rules, compiled...)
	return nil
}

// restrict evaluates the rules of the restrictions for a request that the policy may allow. refused
// is the decision of the first rule that holds for all arguments. open is the decision of the first
// rule before it that depends on unknown arguments. nil means that there is none.
func (p *Policy) restrict(v *values) (refused, open *Decision) {
	var spent uint64
	for _, i := range p.restrictions.of[v.target.Backend] {
		r := &p.restrictions.rules[i]
		truth, cost, err := r.when.cost(v)
		if spent += cost; err != nil || spent > MaxDecisionCost {
			err = r.failed(spent, err)
		}
		d := Decision{Effect: r.then, Rule: r.name, at: len(p.rules) + ownNames + i}
		switch {
		case err != nil:
			d.Effect, d.Err = Deny, err
			return &d, open
		case truth == isTrue:
			return &d, open
		case truth == isOpen && open == nil:
			d.Open = true
			open = &d
		}
	}
	return nil, open
}

// ownLacks returns the scopes that the restrictions require. ok reports whether the caller has all of
// them.
func (p *Policy) ownLacks(v *values) (scopes []string, ok bool) {
	ok = true
	for _, list := range p.restrictions.needs[v.target.Backend] {
		at := slices.IndexFunc(list, func(n need) bool { return n.appliesTo(v.target) })
		if at < 0 {
			continue
		}
		scopes = append(scopes, list[at].scopes...)
		ok = ok && p.holds(v, list[at].scopes)
	}
	return scopes, ok
}

// holds reports whether the caller has all scopes.
func (p *Policy) holds(v *values, scopes []string) bool {
	return !slices.ContainsFunc(scopes, func(s string) bool { return !p.scopes.has(v.who.Scopes, s) })
}
