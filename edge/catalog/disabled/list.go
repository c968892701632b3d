// Package disabled keeps what operators have disabled: tools, backends and sets, which are not listed and not served until they are
// enabled again. Replicas share it:
//
//	operator ─► Registry.Disable ─► Store ─► OnAnnounced ─► each replica's Run ─► OnChange: the catalog
//	                                  └──► each replica reads it every second, too
package disabled

import (
	"cmp"
	"slices"
	"time"
)

// Kind is the kind of a disabled object. Its values are stored and must not change.
type Kind string

// Kinds.
const (
	Tool    Kind = "tool"
	Backend Kind = "backend"
	Set     Kind = "set"
)

// ID identifies a disabled object. It is comparable.
type ID struct {
	Kind Kind
	// Name is the name of a backend or a set. For a tool it is the name that its backend uses,
	// without a prefix: a tool stays disabled if the settings change the prefix.
	Name string
	// Backend is the backend of a tool. It is empty for other kinds.
	Backend string
}

// Found is the object that an operator has named.
type Found struct {
	ID
	// Canonical is the canonical name of a tool. It is empty for other kinds.
	Canonical string
	// Unlisted means that the shared lists of the backend have no such tool: the name may be
	// mistyped.
	Unlisted bool
}

// Entry describes a disabled object.
type Entry struct {
	ID
	// Canonical is the canonical name that a tool had when it was disabled. It is empty for other
	// kinds.
	Canonical string
	// Reason is the operator's reason. Empty means that none was given.
	Reason string
	// Issuer and Subject identify the operator. SubjectIsClient means that Subject is the id of a
	// client that acts for itself.
	Issuer, Subject string
	SubjectIsClient bool
	Since           time.Time
}

// List lists the objects that are disabled at one time. nil is the empty list. It is immutable.
type List struct {
	entries []Entry
	ids     map[ID]bool
}

// NewList returns a list of entries, or nil without entries.
func NewList(entries ...Entry) *List {
	if len(entries) == 0 {
		return nil
	}
	l := &List{entries: slices.Clone(entries), ids: make(map[ID]bool, len(entries))}
	slices.SortFunc(l.entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Backend, b.Backend))
	})
	for i := range l.entries {
		l.ids[l.entries[i].ID] = true
	}
	return l
}

// Entries returns the entries, sorted by kind and name. The slice must not be changed.
func (l *List) Entries() []Entry {
	if l == nil {
		return nil
	}
	return l.entries
}

// Prefixed returns the list with the canonical names of tools: its HasTool takes a canonical name.
// prefix returns the prefix of a backend. Prefixed returns nil for nil.
func (l *List) Prefixed(prefix func(backend string) string) *List {
	if l == nil {
		return nil
	}
	entries := slices.Clone(l.entries)
	for i := range entries {
		if e := &entries[i]; e.Kind == Tool {
			e.Name = prefix(e.Backend) + e.Name
		}
	}
	return NewList(entries...)
}

// HasTool reports whether a tool is disabled by itself. name is the name that its backend uses. It
// is false for other tools of a disabled backend.
func (l *List) HasTool(backend, name string) bool {
	return l != nil && l.ids[ID{Kind: Tool, Name: name, Backend: backend}]
}

// HasBackend reports whether a backend is disabled.
func (l *List) HasBackend(name string) bool { return l != nil && l.ids[ID{Kind: Backend, Name: name}] }

// HasSet reports whether a set is disabled.
func (l *List) HasSet(name string) bool { return l != nil && l.ids[ID{Kind: Set, Name: name}] }
