package policy

import "slices"

// lacks returns the scopes that an operation requires, if the caller lacks any of them. ok reports
// whether the caller has all of them.
func (p *Policy) lacks(v *values) (need []string, ok bool) {
	ok = true
	for i := range p.needs {
		if n := &p.needs[i]; n.appliesTo(v.target) {
			need, ok = n.scopes, p.holds(v, n.scopes)
			break
		}
	}
	if more, has := p.ownLacks(v); len(more) > 0 {
		need, ok = union(need, more), ok && has
	}
	if ok {
		return nil, true
	}
	return need, false
}

// union returns the texts of both lists, in their order, without duplicates.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Includes reports whether held contains a scope or, by the policy's hierarchy, one that includes
// it. p may be nil.
func (p *Policy) Includes(held []string, scope string) bool {
	return slices.Contains(held, scope) || p != nil && p.scopes.has(held, scope)
}

// scopes is the hierarchy of scopes.
type scopes struct {
	// by maps each scope that the policy names to the scopes that include it, including itself.
	by map[string][]string
	// order maps each scope to its index.
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
	for i := range s.Restrictions {
		for _, one := range s.Restrictions[i].Scopes {
			name(one.Need...)
		}
	}
	for _, above := range sortedKeys(s.Hierarchy) {
		name(above)
		name(s.Hierarchy[above]...)
	}
	for _, above := range sortedKeys(s.Hierarchy) {
		for _, scope := range Included(s.Hierarchy, s.Hierarchy[above]) {
			out.by[scope] = append(out.by[scope], above)
		}
	}
	return out
}

// has reports whether held contains a scope, or one that includes it.
func (s *scopes) has(held []string, scope string) bool {
	for _, by := range s.by[scope] {
		if slices.Contains(held, by) {
			return true
		}
	}
	return false
}
