package overlay

import (
	"fmt"
	"strings"
)

// Overridden returns a sentence for each field of an owner's entry that has no effect, because an
// entry of the platform sets the field for all names that the entry matches. names are the
// backend's listed names.
func (l List) Overridden(backend string, names []string) (notes []string) {
	type field struct {
		of   *Entry
		name string
	}
	by, works := map[field]*Entry{}, map[field]bool{}
	var order []field
	for _, name := range names {
		platform := map[string]*Entry{}
		for _, e := range l.about[backend] {
			if !e.Names.Match(name) {
				continue
			}
			for _, f := range e.Fields() {
				if e.Owner == "" {
					if platform[f] == nil {
						platform[f] = e
					}
					continue
				}
				at := field{e, f}
				if first := overriding(platform, f); first == nil {
					works[at] = true
				} else if by[at] == nil {
					by[at] = first
					order = append(order, at)
				}
			}
		}
	}
	for _, at := range order {
		if !works[at] {
			notes = append(notes, fmt.Sprintf("%s: %s: it has no effect, since %s of the platform sets it: what the platform sets, an owner cannot change", at.of.Place, at.name, by[at].Place))
		}
	}
	return notes
}

// overriding returns the entry that sets a field, or that pins the argument whose description the
// field is. It returns nil if there is none.
func overriding(set map[string]*Entry, field string) *Entry {
	if e := set[field]; e != nil || !strings.HasPrefix(field, "arguments.") {
		return e
	}
	return set[field[:strings.LastIndexByte(field, '.')]+".value"]
}
