package overlay

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/internal/pattern"
)

// Listed has the names that a backend lists, without its prefix.
type Listed struct {
	Backend string
	// Prefix is the prefix of the names of the backend's tools and prompts that clients see.
	Prefix string
	// Resources are the URIs of resources and skills, and the texts of templates.
	Tools, Prompts, Resources []string
	// Reads are the literal beginnings of URIs that can be read although they are in no list:
	// prefixes, and the beginnings of templates.
	Reads []string
	// NoTools, NoPrompts and NoResources are true if that list could not be read.
	NoTools, NoPrompts, NoResources bool
}

// Idle is an entry that matches none of its backend's names.
type Idle struct {
	Entry *Entry
	// What is "tool", "prompt" or "resource".
	What string
	// Hint is the name to write instead, if it is known. The entry is then a mistake.
	Hint string
}

// String returns a sentence that begins with the entry's place.
func (i *Idle) String() string {
	return i.Entry.Place + ": " + i.What + ": the backend " + i.Entry.Backend + " lists no " + i.What + " with the name " + i.Entry.Names.String() + i.Hint
}

// Opens reports whether objects are served without a restriction that the entry was meant to be: it
// hides, pins an argument or a variable, or makes a tool dangerous for rules.
func (i *Idle) Opens() bool {
	e := i.Entry
	a := &e.Annotations
	return e.Hide || len(e.Variables) > 0 || a.ReadOnly != nil && !*a.ReadOnly || a.Destructive != nil && *a.Destructive ||
		slices.ContainsFunc(e.Arguments, func(a Argument) bool { return a.pinned() })
}

// Idle returns the entries that match none of their backends' names. It ignores backends that are
// not in listed, and patterns for resources that may match unlisted URIs, unless they could only
// change texts.
func (o *Overlay) Idle(listed []Listed) (idle []Idle) {
	for _, part := range []struct {
		list  List
		what  string
		names func(*Listed) (names []string, unread bool)
	}{
		{o.Tools(), "tool", func(l *Listed) ([]string, bool) { return l.Tools, l.NoTools }},
		{o.Prompts(), "prompt", func(l *Listed) ([]string, bool) { return l.Prompts, l.NoPrompts }},
		{o.Resources(), "resource", func(l *Listed) ([]string, bool) { return l.Resources, l.NoResources }},
	} {
		for i := range part.list.Entries {
			e := &part.list.Entries[i]
			if e.idle(listed, part.names) && (part.what != "resource" || len(e.Variables) > 0 || part.list.onlyTexts(e) || !e.mayBeRead(listed)) {
				one := Idle{Entry: e, What: part.what}
				if at := slices.IndexFunc(listed, func(l Listed) bool { return l.Backend == e.Backend }); part.what != "resource" {
					names, _ := part.names(&listed[at])
					one.Hint = part.list.OwnName(e.Names, &listed[at], names)
				}
				idle = append(idle, one)
			}
		}
	}
	return idle
}

// OwnName returns advice about a pattern that matches none of a backend's own names. If the pattern
// matches a name that clients see, the advice is the backend's own name to write instead, as text
// to append to a sentence. Otherwise it is empty. names are the backend's own names.
func (l List) OwnName(p pattern.Pattern, of *Listed, names []string) string {
	if own, prefixed := strings.CutPrefix(p.String(), of.Prefix); prefixed && of.Prefix != "" && own != "" && slices.ContainsFunc(names, pattern.New(own).Match) {
		return "; write it without the prefix: " + own
	}
	for _, name := range names {
		if e := l.Of(of.Backend, name); slices.ContainsFunc(e.Given(), p.Match) {
			return "; the catalog gives this name to " + strconv.Quote(name) + ": write " + name
		}
	}
	return ""
}

// onlyTexts reports whether an entry for one resource can only change its title and description,
// which a resource has in lists alone.
func (l List) onlyTexts(e *Entry) bool {
	return e.Names.Literal() && !l.hides && !e.Hide && len(e.Groups)+len(e.Arguments)+len(e.Variables) == 0
}

// mayBeRead reports whether a pattern may match URIs that its backend serves without listing them.
func (e *Entry) mayBeRead(listed []Listed) bool {
	literal, _, star := strings.Cut(e.Names.String(), "*")
	for i := range listed {
		if listed[i].Backend != e.Backend {
			continue
		}
		return slices.ContainsFunc(listed[i].Reads, func(head string) bool {
			return strings.HasPrefix(literal, head) || star && strings.HasPrefix(head, literal)
		})
	}
	return false
}

// idle reports whether an entry matches none of the names that its backend lists.
func (e *Entry) idle(listed []Listed, of func(*Listed) ([]string, bool)) bool {
	for i := range listed {
		if listed[i].Backend == e.Backend {
			names, unread := of(&listed[i])
			matches := func(name string) bool {
				return e.Names.Match(name) && (len(e.Variables) == 0 || strings.Contains(name, "{")) // Only templates have variables.
			}
			return !unread && !slices.ContainsFunc(names, matches)
		}
	}
	return false
}
