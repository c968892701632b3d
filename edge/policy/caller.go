package policy

import (
	"maps"
	"slices"
)

// CallerVariables returns the sorted variables of the principal that a condition inspects, of which an anonymous caller has none. It returns nil
// for a condition that inspects principal.anonymous, which provides for such callers, and for one that does not compile.
func CallerVariables(when string) []string {
	env, err := newEnv(maps.Keys(variables))
	if err != nil {
		return nil
	}
	checked, _, err := check(env, when)
	if err != nil {
		return nil
	}
	u := uses{variables: map[string]bool{}}
	u.add(checked.NativeRep())
	if u.variables[varAnonymous] {
		return nil
	}
	var out []string
	for _, name := range callerVariables {
		if u.variables[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
