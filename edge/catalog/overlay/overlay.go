// Package overlay changes how the tools, prompts and resources of backends are shown. It hides
// some, and changes the names, titles, descriptions and annotations of others. A hidden one does
// not exist for clients. Policy, quotas and the audit use the unchanged names. Annotations also
// affect policy, but can only restrict: the stricter of the backend's and the overlay's is used.
package overlay

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/catalog/lock"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// Entry changes how tools, prompts or resources of one backend are shown. Each field is taken from
// the first matching entry that sets it. A name is hidden if any matching entry hides it.
type Entry struct {
	// Place is the position of the entry in the settings, such as "catalog.tools[2]". If several
	// entries were merged, it is that of the first with Arguments, if any.
	Place string
	// Owner is the owner of the file that has the entry; empty for the platform's.
	Owner string
	// Backend is the configured name of the backend.
	Backend string
	// Names matches the names at the backend, without its prefix; for resources, the URIs of
	// resources and skills, and the texts of templates.
	Names pattern.Pattern
	// Hide removes the matching names from lists and answers calls as if they did not exist.
	Hide bool
	// Name is the name that clients see and use instead of the backend's name and its prefix. Empty
	// keeps these. Names must match only one name, and Name must not be a name or an alias of
	// another entry. Name belongs to Backend, even if other backends list it. Resources have none.
	Name string
	// Aliases are further names that calls may use and that are not in lists. They belong to
	// Backend as Name does.
	Aliases []string
	// Title and Description replace those of the backend. Empty keeps them.
	Title, Description string
	// Annotations replace the tool's annotations that are set here. Only tools have them.
	Annotations Annotations
	// Groups are the names by which sets select the matched objects. Clients do not see them.
	Groups []string
	// Arguments are changes of arguments, each with a different name. Resources have none.
	Arguments []Argument
	// Trials are pinned arguments in audit mode. Each has a Pin, and their names differ. They do not
	// affect calls: see Try. A trial is omitted if the Arguments of any entry pin its argument.
	// Resources have none.
	Trials []Argument
	// Variables are pinned variables of templates, as Arguments with a Pin. Only resources have them.
	Variables []Argument
	// MaxTokens bounds the results of a tool. Longer ones are shortened. 0 means no bound. Only
	// tools have it.
	MaxTokens int
}

// Annotations are hints about a tool (MCP, "Tool annotations"). nil keeps the backend's hint.
type Annotations struct{ ReadOnly, Destructive, Idempotent, OpenWorld *bool }

// Overlay has the entries for all lists. It is immutable and safe for concurrent use; a nil Overlay
// changes nothing.
type Overlay struct {
	tools, prompts, resources List
	lock                      *lock.Lock
}

// Entries are the entries for all lists, each in order of precedence.
type Entries struct {
	// Hides is true if every tool, prompt and resource without an entry is hidden.
	Hides bool
	// Withheld are the names of backends whose objects are all hidden, even those that entries show.
	Withheld                  []string
	Tools, Prompts, Resources []Entry
	// Lock has the recorded definitions of the backends' tools. If it blocks, tools that differ are
	// hidden. nil compares nothing.
	Lock *lock.Lock
}

// List has the entries for tools, for prompts or for resources. The zero value changes nothing.
type List struct {
	// Entries is in order of precedence. It must not be changed.
	Entries []Entry
	// hides is true if names without an entry are hidden.
	hides bool
	// withheld is Entries.Withheld.
	withheld []string
	// locked is true if a lock may hide any name.
	locked bool
	digest uint64
	// about maps each backend to its entries, in order.
	about map[string][]*Entry
	// given maps names and aliases to the backends that own them.
	given map[string]string
	// pinsVariables is true if an entry has Variables.
	pinsVariables bool
}

// New returns an overlay with the given entries, which must not be changed afterwards.
func New(e Entries) *Overlay {
	o := &Overlay{tools: newList(&e, e.Tools), prompts: newList(&e, e.Prompts), resources: newList(&e, e.Resources), lock: e.Lock}
	o.tools.locked = e.Lock.Blocks()
	return o
}

// Lock returns the recorded definitions of the backends' tools, or nil. Entries do not include its
// effect: a tool is hidden if an entry hides it, or if it differs from a blocking lock.
func (o *Overlay) Lock() *lock.Lock {
	if o == nil {
		return nil
	}
	return o.lock
}

func newList(all *Entries, entries []Entry) List {
	if !all.Hides && len(entries)+len(all.Withheld) == 0 {
		return List{}
	}
	out := List{Entries: entries, hides: all.Hides, withheld: all.Withheld, about: make(map[string][]*Entry), given: make(map[string]string)}
	h := fnv.New64a()
	_ = json.NewEncoder(h).Encode(all.Hides)
	if len(all.Withheld) > 0 {
		_ = json.NewEncoder(h).Encode(all.Withheld)
	}
	for i := range entries {
		e := &entries[i]
		_ = json.NewEncoder(h).Encode([]any{e.Backend, e.Names.String(), e.Hide, e.Name, e.Aliases, e.Title, e.Description, e.Annotations, foldAll(e.Arguments), e.MaxTokens, e.Groups, foldAll(e.Trials), foldAll(e.Variables)})
		out.about[e.Backend] = append(out.about[e.Backend], e)
		out.pinsVariables = out.pinsVariables || len(e.Variables) > 0
		for _, name := range e.Given() {
			out.given[name] = e.Backend
		}
	}
	out.digest = h.Sum64()
	return out
}

// Tools returns the entries for tools.
func (o *Overlay) Tools() List {
	if o == nil {
		return List{}
	}
	return o.tools
}

// Prompts returns the entries for prompts.
func (o *Overlay) Prompts() List {
	if o == nil {
		return List{}
	}
	return o.prompts
}

// Resources returns the entries for resources, templates and skills.
func (o *Overlay) Resources() List {
	if o == nil {
		return List{}
	}
	return o.resources
}

// Equal reports whether two overlays have the same effect.
func (o *Overlay) Equal(other *Overlay) bool {
	return o.Tools().digest == other.Tools().digest && o.Prompts().digest == other.Prompts().digest &&
		o.Resources().digest == other.Resources().digest && o.Lock().Digest() == other.Lock().Digest()
}

// Owner returns the backend to which a name or an alias of an entry belongs. ok is false for any
// other name.
func (l List) Owner(name string) (backend string, ok bool) {
	backend, ok = l.given[name]
	return backend, ok
}

// GivenAt returns the place of the first entry that gives a name or an alias. It is empty if none does.
func (l List) GivenAt(name string) string {
	for i := range l.Entries {
		if slices.Contains(l.Entries[i].Given(), name) {
			return l.Entries[i].Place
		}
	}
	return ""
}

// About reports whether the entries, or a lock, may change or hide a name of a backend.
func (l List) About(backend string) bool {
	return l.hides || l.locked || len(l.about[backend]) > 0 || l.Withholds(backend)
}

// Withholds reports whether everything of a backend is hidden.
func (l List) Withholds(backend string) bool { return slices.Contains(l.withheld, backend) }

// Count returns the number of entries about a backend.
func (l List) Count(backend string) int { return len(l.about[backend]) }

// Of returns the change of a name at a backend. Its Hide is true if the name is hidden. The zero
// Entry changes nothing.
func (l List) Of(backend, name string) Entry {
	e, matched, hide := Entry{}, false, l.Withholds(backend)
	for _, one := range l.about[backend] {
		if !one.Names.Match(name) {
			continue
		}
		matched, hide = true, hide || one.Hide
		e.Name, e.Title, e.Description = cmp.Or(e.Name, one.Name), cmp.Or(e.Title, one.Title), cmp.Or(e.Description, one.Description)
		if len(e.Aliases) == 0 {
			e.Aliases = one.Aliases
		}
		if len(e.Groups) == 0 {
			e.Groups = one.Groups
		}
		if len(one.Arguments) > 0 {
			e.Place = cmp.Or(e.Place, one.Place)
		}
		e.Arguments, e.Trials = mergeArguments(e.Arguments, one.Arguments), mergeArguments(e.Trials, one.Trials)
		e.Variables = mergeArguments(e.Variables, one.Variables)
		e.MaxTokens = cmp.Or(e.MaxTokens, one.MaxTokens)
		a, b := &e.Annotations, &one.Annotations
		a.ReadOnly, a.Destructive = cmp.Or(a.ReadOnly, b.ReadOnly), cmp.Or(a.Destructive, b.Destructive)
		a.Idempotent, a.OpenWorld = cmp.Or(a.Idempotent, b.Idempotent), cmp.Or(a.OpenWorld, b.OpenWorld)
	}
	e.Hide = hide || l.hides && !matched
	e.Trials = withoutPinned(e.Trials, e.Arguments)
	return e
}

// Says reports whether an entry matches a name at a backend, and whether a matching entry hides it.
// Of also applies the default for names without an entry.
func (l List) Says(backend, name string) (matched, hides bool) {
	if l.Withholds(backend) {
		return true, true
	}
	for _, one := range l.about[backend] {
		if one.Names.Match(name) {
			matched, hides = true, hides || one.Hide
		}
	}
	return matched, hides
}

// Decides returns the place of the first matching entry that hides a name at a backend or, if none
// does, of the one that gives it another name. It is empty if there is none.
func (l List) Decides(backend, name string) (place string) {
	for _, one := range l.about[backend] {
		switch {
		case !one.Names.Match(name):
		case one.Hide:
			return one.Place
		case one.Name != "":
			place = cmp.Or(place, one.Place)
		}
	}
	return place
}

// HidesOthers reports whether names without an entry are hidden.
func (l List) HidesOthers() bool { return l.hides }

// Fold writes the entry's change of a backend's name to a digest. It writes nothing if the entry
// changes nothing, or hides the name.
func (e *Entry) Fold(h io.Writer, name string) {
	if !e.Hide && (e.Name != "" || len(e.Aliases) > 0 || e.rewrites()) {
		_ = json.NewEncoder(h).Encode([]any{name, e.Name, e.Aliases, e.Title, e.Description, e.Annotations, foldAll(e.Arguments)})
	}
}

// Given returns Name, if it is set, and Aliases.
func (e *Entry) Given() []string {
	if e.Name == "" {
		return e.Aliases
	}
	return append([]string{e.Name}, e.Aliases...)
}

// Tool returns a tool with the entry's texts, annotations and arguments. It returns t itself if
// there is no change, and does not modify t. The error names an argument that cannot be changed,
// with the reason. The tool must then not be shown.
func (e *Entry) Tool(t *pb.Tool) (*pb.Tool, error) {
	if !e.rewrites() {
		return t, nil
	}
	out := proto.CloneOf(t)
	if len(e.Arguments) > 0 {
		schema, err := argumentSchema(t.GetInputSchemaJson(), e.Arguments)
		if err != nil {
			return nil, err
		}
		out.InputSchemaJson = schema
	}
	out.Title, out.Description = cmp.Or(e.Title, out.Title), cmp.Or(e.Description, out.Description)
	if a := out.GetAnnotations(); e.Title != "" && a.GetTitle() != "" {
		a.Title = e.Title // Clients of older revisions show this title.
	}
	if e.Annotations == (Annotations{}) {
		return out, nil
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
	return out, nil
}

// Prompt is Tool for prompts.
func (e *Entry) Prompt(p *pb.Prompt) (*pb.Prompt, error) {
	if !e.rewrites() {
		return p, nil
	}
	out := proto.CloneOf(p)
	out.Title, out.Description = cmp.Or(e.Title, out.Title), cmp.Or(e.Description, out.Description)
	var err error
	out.Arguments, err = promptArguments(p.GetArguments(), e.Arguments)
	return out, err
}

// Resource is Tool for resources.
func (e *Entry) Resource(x *pb.Resource) *pb.Resource {
	if !e.rewrites() {
		return x
	}
	out := proto.CloneOf(x)
	out.Title, out.Description = cmp.Or(e.Title, out.Title), cmp.Or(e.Description, out.Description)
	return out
}

// Template is like Tool, for resource templates.
func (e *Entry) Template(x *pb.ResourceTemplate) *pb.ResourceTemplate {
	if !e.rewrites() {
		return x
	}
	out := proto.CloneOf(x)
	out.Title, out.Description = cmp.Or(e.Title, out.Title), cmp.Or(e.Description, out.Description)
	return out
}

// rewrites reports whether the entry changes texts, annotations or arguments.
func (e *Entry) rewrites() bool {
	return e.Title != "" || e.Description != "" || e.Annotations != Annotations{} || len(e.Arguments) > 0
}

// Fields returns the names of the fields that the entry sets, as in the settings. It omits hide,
// which several entries may set.
func (e *Entry) Fields() (set []string) {
	for name, is := range map[string]bool{
		"name": e.Name != "", "aliases": len(e.Aliases) > 0, "title": e.Title != "", "description": e.Description != "", "groups": len(e.Groups) > 0,
		"max-result": e.MaxTokens != 0, "annotations.read-only": e.Annotations.ReadOnly != nil, "annotations.destructive": e.Annotations.Destructive != nil,
		"annotations.idempotent": e.Annotations.Idempotent != nil, "annotations.open-world": e.Annotations.OpenWorld != nil,
	} {
		if is {
			set = append(set, name)
		}
	}
	for i := range e.Arguments {
		a := &e.Arguments[i]
		for name, is := range map[string]bool{"value": a.pinned(), "default": a.Default != nil, "description": a.Description != ""} {
			if is {
				set = append(set, "arguments."+a.Name+"."+name)
			}
		}
	}
	for i := range e.Trials {
		set = append(set, "arguments."+e.Trials[i].Name+".value (mode: audit)")
	}
	for i := range e.Variables {
		set = append(set, "variables."+e.Variables[i].Name)
	}
	slices.Sort(set)
	return set
}
