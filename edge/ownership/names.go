package ownership

import "slices"

// Names are the names that one backend lists, without the prefix of the configuration. The slices
// must not be modified.
type Names struct {
	Tools     []string `json:"tools,omitempty"`
	Prompts   []string `json:"prompts,omitempty"`
	Resources []string `json:"resources,omitempty"` // URIs
	Templates []string `json:"templates,omitempty"` // RFC 6570
	Skills    []string `json:"skills,omitempty"`    // URIs of their SKILL.md
	Pages     []string `json:"pages,omitempty"`     // URIs that tools declare as their pages
	Prefixes  []string `json:"prefixes,omitempty"`  // URI prefixes that the backend declares
}

// each returns the lists of n in order of priority if the limit does not allow all.
func (n *Names) each() [7]*[]string {
	return [...]*[]string{&n.Tools, &n.Prompts, &n.Prefixes, &n.Templates, &n.Resources, &n.Skills, &n.Pages}
}

// entryBytes is the overhead of a name in a stored record: quotes and a comma.
const entryBytes = 3

// bounded returns names of at most the given size in bytes, and the number of dropped ones. n is
// not modified.
func (n *Names) bounded(bytes int) (_ *Names, dropped int) {
	out := *n
	for _, list := range out.each() {
		for i, name := range *list {
			if bytes -= len(name) + entryBytes; bytes < 0 {
				dropped += len(*list) - i
				*list = (*list)[:i:i]
				break
			}
		}
	}
	return &out, dropped
}

// size returns the size that bounded limits.
func (n *Names) size() (bytes int) {
	all := *n
	for _, list := range all.each() {
		for _, name := range *list {
			bytes += len(name) + entryBytes
		}
	}
	return bytes
}

// with returns the union of both. Neither is modified.
func (n *Names) with(o *Names) *Names {
	out := *n
	theirs := *o
	lists, more := out.each(), theirs.each()
	for i := range lists {
		if len(*more[i]) == 0 {
			continue
		}
		all := slices.Concat(*lists[i], *more[i])
		slices.Sort(all)
		*lists[i] = slices.Compact(all)
	}
	return &out
}

// empty reports whether there are no names. nil is empty.
func (n *Names) empty() bool { return n == nil || n.Equal(&Names{}) }

// Equal reports whether both have the same names in the same order. nil equals only nil.
func (n *Names) Equal(o *Names) bool {
	if n == nil || o == nil {
		return n == o
	}
	a, b := *n, *o
	mine, theirs := a.each(), b.each()
	for i := range mine {
		if !slices.Equal(*mine[i], *theirs[i]) {
			return false
		}
	}
	return true
}
