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

// Kind is the kind of what is disabled. Stored values contain it, so that its values never change.
type Kind string

// Kinds.
const (
	Tool    Kind = "tool"
	Backend Kind = "backend"
	Set     Kind = "set"
)

// ID names what is disabled. It is comparable.
type ID struct {
	Kind Kind
	// Name is the name of a backend or of a set, or that which the backend of a tool has given it, without a prefix: a tool stays
	// disabled if the settings change the prefix of its backend.
	Name string
	// Backend is the backend of a tool; empty for others.
	Backend string
}

// Found is what an operator has named.
type Found struct {
	ID
	// Canonical is the canonical name of a tool; empty for others.
	Canonical string
	// Unlisted means that the lists of the backend that all callers share have no such tool: the name may be mistaken.
	Unlisted bool
}

// Entry is what one operator has disabled.
type Entry struct {
	ID
	// Canonical is the canonical name that a tool had when it was disabled; empty for others.
	Canonical string
	// Reason is for operators; empty if none was given.
	Reason string
	// Issuer and Subject are the operator's. SubjectIsClient reports that Subject is the id of a client that acts for itself.
	Issuer, Subject string
	SubjectIsClient bool
	Since           time.Time
}

// List is all that is disabled at one time. nil is the list without entries. It is immutable.
type List struct {
	entries []Entry
	ids     map[ID]bool
}

// NewList returns the list of some entries, or nil if there are none.
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

// Entries returns the entries by kind and name. The slice must not be changed.
func (l *List) Entries() []Entry {
	if l == nil {
		return nil
	}
	return l.entries
}

// Prefixed returns the list for comparisons with canonical names: HasTool of it takes those, with the prefix that prefix returns for a
// backend. nil has nil.
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

// HasTool reports whether a tool is disabled, by the name that its backend has given it. It is false for a tool of a disabled backend.
func (l *List) HasTool(backend, name string) bool {
	return l != nil && l.ids[ID{Kind: Tool, Name: name, Backend: backend}]
}

// HasBackend reports whether a backend is disabled.
func (l *List) HasBackend(name string) bool { return l != nil && l.ids[ID{Kind: Backend, Name: name}] }

// HasSet reports whether a set is disabled.
func (l *List) HasSet(name string) bool { return l != nil && l.ids[ID{Kind: Set, Name: name}] }
