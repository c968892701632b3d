package check

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxListed bounds the tools, or fields of a form, that an error names.
const maxListed = 20

// tool is a tool that a backend lists.
type tool struct {
	backend int // the index of its subject
	name    string
	// shown is the name as clients see it, and aliases are others that they may use.
	shown   string
	aliases []string
}

// assign returns, for each subject, the tools to call with their arguments. A name of Trial.Calls
// is one that clients use, or else the backend's own. It returns an error for names of no tool
// and of tools of several backends, which are not called.
func (t *Trial) assign(subjects []*subject) (calls []map[string][]string, err error) {
	calls = make([]map[string][]string, len(subjects))
	for i := range calls {
		calls[i] = map[string][]string{}
	}
	if t == nil {
		return calls, nil
	}
	listed := t.listedBy(subjects)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(t.Calls)) {
		switch found := named(listed, name); {
		case len(found) == 0:
			errs = append(errs, fmt.Errorf("--call %s: no backend lists the tool; there are %s", name, namesOf(listed)))
		case slices.ContainsFunc(found, func(other tool) bool { return other.backend != found[0].backend }):
			errs = append(errs, ambiguous(name, found, subjects))
		default:
			to := calls[found[0].backend]
			to[found[0].name] = append(to[found[0].name], t.Calls[name]...)
		}
	}
	return calls, errors.Join(errs...)
}

// listedBy returns the tools of the backends that could be read.
func (t *Trial) listedBy(subjects []*subject) (out []tool) {
	for i, s := range subjects {
		if s.survey == nil {
			continue
		}
		for _, x := range s.survey.Catalog.Tools {
			if c := t.curated(s.cfg.Name, x); !c.Hidden {
				out = append(out, tool{i, x.GetName(), cmp.Or(c.Name, s.cfg.Prefix+x.GetName()), c.Aliases})
			}
		}
	}
	return out
}

// named returns the tools that clients call by a name, which may be an alias. If there are none, it
// returns those that backends list with the name.
func named(tools []tool, name string) (out []tool) {
	for _, is := range []func(tool) bool{
		func(t tool) bool { return t.shown == name || slices.Contains(t.aliases, name) },
		func(t tool) bool { return t.name == name },
	} {
		for _, t := range tools {
			if is(t) {
				out = append(out, t)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// namesOf returns the names by which tools may be called.
func namesOf(tools []tool) string {
	var all []string
	for _, t := range tools {
		all = append(all, t.shown)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 {
		return "none"
	}
	names := strings.Join(all[:min(len(all), maxListed)], ", ")
	if more := len(all) - maxListed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}

// ambiguous returns the error about a name that tools of several backends have.
func ambiguous(name string, found []tool, subjects []*subject) error {
	var of, shown []string
	for _, t := range found {
		of = append(of, fmt.Sprintf("%s of backend %q", t.shown, subjects[t.backend].cfg.Name))
		shown = append(shown, t.shown)
	}
	slices.Sort(shown)
	mend := "give one of these names"
	if len(slices.Compact(shown)) == 1 {
		mend = "give one of the backends a prefix, or check one alone"
	}
	return fmt.Errorf("--call %s: several backends list such a tool, and none was called: it may be %s: %s", name, strings.Join(of, " or "), mend)
}
