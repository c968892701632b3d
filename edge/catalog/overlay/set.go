package overlay

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/internal/pattern"
)

// Set selects a part of the backends' objects for an endpoint of its own. It is immutable.
type Set struct {
	// Name is the name in the path of the endpoint.
	Name string
	// Title replaces the title of the edge. Empty keeps it.
	Title string
	// Instructions replace those of the backends. Empty means the instructions of the backends that
	// Include names.
	Instructions string
	// Private means that not every caller may use the set, so that its lists must not be shared.
	Private bool
	// Search means that the set lists tools that find and call its tools, and of these only some.
	Search bool
	// Listed selects, by backends, groups and tools, the tools that a set with Search nevertheless
	// lists.
	Listed Selection
	// ResourceTools means that the set lists tools that list and read its resources.
	ResourceTools bool
	// Schemas is the form of the schemas of tools' arguments in lists. Empty means that of the root.
	Schemas Schemas
	// Include selects the members of the set, and Exclude those of them that it does not have.
	Include, Exclude Selection
}

// Schemas is a form of the schemas of tools' arguments in lists.
type Schemas string

// The forms of schemas. SchemasAuto is SchemasFull for backends of the contract, and
// SchemasPortable for those whose schemas the edge generates.
const (
	SchemasAuto     Schemas = "auto"
	SchemasPortable Schemas = "portable"
	SchemasFull     Schemas = "full"
)

// Selection selects what any of its parts selects. Names are the backends' own, without prefixes.
type Selection struct {
	// Backends selects everything of backends.
	Backends pattern.List
	// Groups selects objects by the groups of the overlay's entries.
	Groups pattern.List
	// Tools, Prompts and Resources select by name; resources by URI, templates by their text.
	Tools, Prompts, Resources pattern.List
	// Within are the names of the only backends that the selection selects from. nil means all.
	Within []string
}

// Kind is a kind of members of a set.
type Kind byte

// The kinds. KindResource includes templates and skills.
const (
	KindTool Kind = iota + 1
	KindPrompt
	KindResource
)

// Patterns returns the number of patterns.
func (s *Selection) Patterns() int {
	return len(s.Backends) + len(s.Groups) + len(s.Tools) + len(s.Prompts) + len(s.Resources)
}

// names returns the patterns for names of a kind.
func (s *Selection) names(kind Kind) pattern.List {
	switch kind {
	case KindTool:
		return s.Tools
	case KindPrompt:
		return s.Prompts
	default:
		return s.Resources
	}
}

// Reaches reports whether the selection may select anything of a backend, by Within.
func (s *Selection) Reaches(backend string) bool {
	return s.Within == nil || slices.Contains(s.Within, backend)
}

// HasBackend reports whether the selection selects everything of a backend.
func (s *Selection) HasBackend(name string) bool { return s.Reaches(name) && s.Backends.Match(name) }

// Has reports whether the selection selects a name of a backend. o has its groups; it may be nil.
func (s *Selection) Has(o *Overlay, kind Kind, backend, name string) bool {
	if !s.Reaches(backend) {
		return false
	}
	return s.Backends.Match(backend) || s.names(kind).Match(name) || s.hasGroup(o, kind, backend, name)
}

func (s *Selection) hasGroup(o *Overlay, kind Kind, backend, name string) bool {
	if len(s.Groups) == 0 {
		return false
	}
	return slices.ContainsFunc(o.Groups(kind, backend, name), s.Groups.Match)
}

// MayHave reports whether the selection may select an object of a kind of a backend, without the
// backend's lists.
func (s *Selection) MayHave(o *Overlay, kind Kind, backend string) bool {
	if !s.Reaches(backend) {
		return false
	}
	if s.Backends.Match(backend) || len(s.names(kind)) > 0 {
		return true
	}
	return len(s.Groups) > 0 && slices.ContainsFunc(o.of(kind).about[backend], func(e *Entry) bool {
		return slices.ContainsFunc(e.Groups, s.Groups.Match)
	})
}

// Groups returns the groups of a backend's name.
func (o *Overlay) Groups(kind Kind, backend, name string) []string {
	return o.of(kind).Of(backend, name).Groups
}

// of returns the entries about a kind.
func (o *Overlay) of(kind Kind) List {
	switch kind {
	case KindTool:
		return o.Tools()
	case KindPrompt:
		return o.Prompts()
	default:
		return o.Resources()
	}
}

// Has reports whether a name of a backend is a member of the set. o has its groups; it may be nil.
func (s *Set) Has(o *Overlay, kind Kind, backend, name string) bool {
	return s.Include.Has(o, kind, backend, name) && !s.Exclude.Has(o, kind, backend, name)
}

// Equal reports whether two sets have the same effect.
func (s *Set) Equal(other *Set) bool { return s.digest() == other.digest() }

func (s *Set) digest() uint64 {
	h := fnv.New64a()
	_ = json.NewEncoder(h).Encode([]any{s.Name, s.Title, s.Instructions, s.Private, s.Include.texts(), s.Exclude.texts(), s.Search, s.Listed.texts(), s.ResourceTools, s.Schemas})
	return h.Sum64()
}

// texts returns the texts of all patterns.
func (s *Selection) texts() (out [][]string) {
	for _, list := range []pattern.List{s.Backends, s.Groups, s.Tools, s.Prompts, s.Resources} {
		var texts []string
		for _, p := range list {
			texts = append(texts, p.String())
		}
		out = append(out, texts)
	}
	if s.Within != nil {
		out = append(out, s.Within)
	}
	return out
}

// Sets are the sets of a service, by name. It is immutable. nil has none.
type Sets map[string]*Set

// Equal reports whether two values have the same sets.
func (s Sets) Equal(other Sets) bool { return maps.EqualFunc(s, other, (*Set).Equal) }

// Sorted returns the sets by name.
func (s Sets) Sorted() (out []*Set) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		out = append(out, s[name])
	}
	return out
}
