// Package overlay changes how the tools and prompts of backends are shown: some are hidden, others get another title, description or
// annotations. A hidden one does not exist for clients. Policy, quotas and the audit use the names that are not changed here. Annotations
// count there, too, but can only restrict: the stricter of the backend's and the overlay's is used.
package overlay

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// Entry says how tools or prompts of one backend are shown. Of several entries that match, the first that sets a field sets it; what one of
// them hides is hidden.
type Entry struct {
	// Place is where the entry stands in the settings, such as "catalog.tools[2]".
	Place string
	// Backend is the configured name of the backend.
	Backend string
	// Names matches their names at the backend, without its prefix.
	Names pattern.Pattern
	// Hide removes them from lists and answers calls as if they did not exist.
	Hide bool
	// Title and Description replace those of the backend. Empty keeps them.
	Title, Description string
	// Annotations replace those of a tool's that are set. Prompts have none.
	Annotations Annotations
}

// Annotations are hints about a tool (MCP, "Tool annotations"). nil keeps what the backend says.
type Annotations struct{ ReadOnly, Destructive, Idempotent, OpenWorld *bool }

// Overlay is entries for tools and for prompts. It is immutable and safe for concurrent use; a nil Overlay changes nothing.
type Overlay struct{ tools, prompts Entries }

// Entries are those about one kind. The zero value changes nothing.
type Entries struct {
	// List is in order of precedence. It must not be changed.
	List []Entry
	// hides hides what no entry matches.
	hides  bool
	digest uint64
}

// New returns the overlay of entries. hides hides every tool and prompt that no entry matches.
func New(hides bool, tools, prompts []Entry) *Overlay {
	return &Overlay{tools: newEntries(hides, tools), prompts: newEntries(hides, prompts)}
}

func newEntries(hides bool, list []Entry) Entries {
	if !hides && len(list) == 0 {
		return Entries{}
	}
	h := fnv.New64a()
	_ = json.NewEncoder(h).Encode(hides)
	for _, e := range list {
		_ = json.NewEncoder(h).Encode([]any{e.Backend, e.Names.String(), e.Hide, e.Title, e.Description, e.Annotations})
	}
	return Entries{List: list, hides: hides, digest: h.Sum64()}
}

// Tools returns the entries for tools.
func (o *Overlay) Tools() Entries {
	if o == nil {
		return Entries{}
	}
	return o.tools
}

// Prompts returns the entries for prompts.
func (o *Overlay) Prompts() Entries {
	if o == nil {
		return Entries{}
	}
	return o.prompts
}

// Equal reports whether two overlays show the same.
func (o *Overlay) Equal(other *Overlay) bool {
	return o.Tools().digest == other.Tools().digest && o.Prompts().digest == other.Prompts().digest
}

// Fold writes to a digest what the entries change of a name at a backend. It writes nothing if they change nothing.
func (l Entries) Fold(h io.Writer, backend, name string) {
	switch e, hidden := l.of(backend, name); {
	case hidden:
		_ = json.NewEncoder(h).Encode([]any{name})
	case e.changes():
		_ = json.NewEncoder(h).Encode([]any{name, e.Title, e.Description, e.Annotations})
	}
}

// Tool returns a tool of a backend as it is shown, which is t itself if nothing changes it. shown is false if it is hidden.
func (o *Overlay) Tool(backend string, t *pb.Tool) (_ *pb.Tool, shown bool) {
	e, hidden := o.Tools().of(backend, t.GetName())
	if hidden || !e.changes() {
		return t, !hidden
	}
	out := proto.CloneOf(t)
	out.Title, out.Description = cmp.Or(e.Title, out.Title), cmp.Or(e.Description, out.Description)
	if a := out.GetAnnotations(); e.Title != "" && a.GetTitle() != "" {
		a.Title = e.Title // Clients of older revisions show this one.
	}
	if e.Annotations == (Annotations{}) {
		return out, true
	}
	a := out.GetAnnotations()
	if a == nil {
		a = &pb.ToolAnnotations{}
		out.Annotations = a
	}
	a.ReadOnly = cmp.Or(e.Annotations.ReadOnly, a.ReadOnly)
	a.Destructive = cmp.Or(e.Annotations.Destructive, a.Destructive)
	a.Idempotent = cmp.Or(e.Annotations.Idempotent, a.Idempotent)
	a.OpenWorld = cmp.Or(e.Annotations.OpenWorld, a.OpenWorld)
	return out, true
}

// Prompt is Tool for prompts.
func (o *Overlay) Prompt(backend string, p *pb.Prompt) (_ *pb.Prompt, shown bool) {
	e, hidden := o.Prompts().of(backend, p.GetName())
	if hidden || !e.changes() {
		return p, !hidden
	}
	out := proto.CloneOf(p)
	out.Title, out.Description = cmp.Or(e.Title, out.Title), cmp.Or(e.Description, out.Description)
	return out, true
}

// Hides reports whether a name at a backend is hidden.
func (l Entries) Hides(backend, name string) bool {
	_, hidden := l.of(backend, name)
	return hidden
}

// of merges the entries that match a name of a backend.
func (l Entries) of(backend, name string) (e Entry, hidden bool) {
	hidden = l.hides
	hides := false
	for i := range l.List {
		one := &l.List[i]
		if one.Backend != backend || !one.Names.Match(name) {
			continue
		}
		hidden, hides = false, hides || one.Hide
		e.Title, e.Description = cmp.Or(e.Title, one.Title), cmp.Or(e.Description, one.Description)
		a, b := &e.Annotations, &one.Annotations
		a.ReadOnly, a.Destructive = cmp.Or(a.ReadOnly, b.ReadOnly), cmp.Or(a.Destructive, b.Destructive)
		a.Idempotent, a.OpenWorld = cmp.Or(a.Idempotent, b.Idempotent), cmp.Or(a.OpenWorld, b.OpenWorld)
	}
	return e, hidden || hides
}

// Fields returns the names of the fields that the entry sets, as the settings have them, without hide, which several entries may say.
func (e *Entry) Fields() (set []string) {
	for name, is := range map[string]bool{
		"title": e.Title != "", "description": e.Description != "",
		"annotations.read-only": e.Annotations.ReadOnly != nil, "annotations.destructive": e.Annotations.Destructive != nil,
		"annotations.idempotent": e.Annotations.Idempotent != nil, "annotations.open-world": e.Annotations.OpenWorld != nil,
	} {
		if is {
			set = append(set, name)
		}
	}
	slices.Sort(set)
	return set
}

// changes reports whether an entry sets a field.
func (e *Entry) changes() bool {
	return e.Title != "" || e.Description != "" || e.Annotations != Annotations{}
}

// Listed are the names that a backend lists, without its prefix.
type Listed struct {
	Backend        string
	Tools, Prompts []string
	// NoTools and NoPrompts are set if that list could not be read.
	NoTools, NoPrompts bool
}

// Idle returns the places of the entries that match nothing of what their backends list, each with one sentence. It returns nothing about
// backends that are not among them.
func (o *Overlay) Idle(listed []Listed) (notes []string) {
	for _, part := range []struct {
		entries Entries
		what    string
		names   func(*Listed) (names []string, unread bool)
	}{
		{o.Tools(), "tool", func(l *Listed) ([]string, bool) { return l.Tools, l.NoTools }},
		{o.Prompts(), "prompt", func(l *Listed) ([]string, bool) { return l.Prompts, l.NoPrompts }},
	} {
		for i := range part.entries.List {
			e := &part.entries.List[i]
			if e.idle(listed, part.names) {
				notes = append(notes, e.Place+": "+part.what+": the backend "+e.Backend+" lists no "+part.what+" with the name "+e.Names.String())
			}
		}
	}
	return notes
}

// idle reports whether an entry matches none of the names that its backend lists.
func (e *Entry) idle(listed []Listed, of func(*Listed) ([]string, bool)) bool {
	for i := range listed {
		if listed[i].Backend == e.Backend {
			names, unread := of(&listed[i])
			return !unread && !slices.ContainsFunc(names, e.Names.Match)
		}
	}
	return false
}
