package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// Set is a part of the backends' lists with its own endpoints: /mcp/NAME, /sse/NAME and
// /message/NAME.
type Set struct {
	// Title replaces that of server.title for clients of the set; empty keeps it.
	Title string `yaml:"title"`
	// Instructions replace those of the backends for clients of the set. Empty means those of
	// include.backends.
	Instructions string `yaml:"instructions"`
	// Include selects the members: everything that one of its keys names.
	Include SetMembers `yaml:"include"`
	// Exclude selects members to leave out.
	Exclude SetMembers `yaml:"exclude"`
	// Search replaces the list of the set's tools by find_tools and call_tool: off, the default, or on.
	Search string `yaml:"search" also:"find,find-tools"`
	// Listed selects tools that stay in the list if Search is on.
	Listed SetListed `yaml:"listed" also:"pinned,pin"`
	// AsTools adds tools of the edge for hosts that support only tools. resources adds
	// list_resources and read_resource.
	AsTools Names `yaml:"as-tools" also:"as-tool,resource-tools"`
	// Schemas is the form of the arguments' schemas in the set's tools/list: auto, portable or full.
	// Empty means that of the backends.
	Schemas string `yaml:"schemas"`
	// When is an expression in CEL over the variables of policies that begin with principal. Callers
	// for whom it is not true cannot use the set. If it is absent, every caller can.
	When *string `yaml:"when" also:"if,condition,expression"`
	// Scopes are the scopes that a caller needs to use the set. All of them are required.
	Scopes Names `yaml:"scopes" also:"need,scope,required"`
	// AcceptRoot also accepts access tokens whose audience is the edge as a whole.
	AcceptRoot bool `yaml:"accept-root"`
}

// SetMembers selects tools, prompts and resources. Patterns are as in Policy.
type SetMembers struct {
	// Backends are patterns of names of backends. All objects of these backends are selected.
	Backends Names `yaml:"backends"`
	// Groups are patterns of the groups of entries in Catalog.
	Groups Names `yaml:"groups"`
	// Tools are patterns of the backends' own names of tools, without prefixes.
	Tools Names `yaml:"tools"`
	// Prompts are patterns of the backends' own names of prompts, without prefixes.
	Prompts Names `yaml:"prompts"`
	// Resources are patterns of URIs and of the texts of templates. A template or a skill has its URIs.
	Resources Names `yaml:"resources"`
}

// SetListed selects tools. Patterns are as in Policy.
type SetListed struct {
	// Backends are patterns of names of backends. All tools of these backends are selected.
	Backends Names `yaml:"backends"`
	// Groups are patterns of the groups of entries in Catalog.
	Groups Names `yaml:"groups"`
	// Tools are patterns of the backends' own names of tools, without prefixes.
	Tools Names `yaml:"tools"`
}

// The values of Set.Search.
const (
	SearchOff = "off"
	SearchOn  = "on"
)

// AsToolsResources is the value of Set.AsTools.
const AsToolsResources = "resources"

// members returns the selection as that of members of a set.
func (l *SetListed) members() *SetMembers {
	return &SetMembers{Backends: l.Backends, Groups: l.Groups, Tools: l.Tools}
}

// The values of Config.Root that are not names of sets.
const (
	// RootAll serves everything at /mcp.
	RootAll = "all"
	// RootOff serves nothing at /mcp.
	RootOff = "off"
)

// RootSet returns the set that /mcp serves: empty for everything. served is false if it serves
// nothing.
func (c *Config) RootSet() (set string, served bool) {
	switch c.Root {
	case "", RootAll:
		return "", true
	case RootOff:
		return "", false
	}
	return c.Root, true
}

// StdioSet returns the set of a client over stdio: empty for everything.
func (c *Config) StdioSet() string {
	if c.Set != "" {
		return c.Set
	}
	set, _ := c.RootSet()
	return set
}

// OpenSet is a compiled Set.
type OpenSet struct {
	*overlay.Set
	// When is nil if every caller may use the set.
	When *policy.CallerCondition
	// Place is the file and the line of When in a file of an owner; empty for others.
	Place string
	// Scopes and AcceptRoot are as in Set.
	Scopes     []string
	AcceptRoot bool
}

// OpenSets compiles Sets, and those of the owners of Include that are in force.
func (c *Config) OpenSets() (map[string]*OpenSet, error) {
	all := c.OwnedSets()
	if len(all) == 0 {
		return nil, nil
	}
	out := make(map[string]*OpenSet, len(all))
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		one := &OpenSet{Place: s.Place, Scopes: s.Scopes, AcceptRoot: s.AcceptRoot, Set: &overlay.Set{
			Name: name, Title: s.Title, Instructions: s.Instructions, Private: s.When != nil || len(s.Scopes) > 0,
			Search: s.Search == SearchOn, Listed: s.Listed.members().selection(), ResourceTools: len(s.AsTools) > 0, Schemas: overlay.Schemas(s.Schemas),
			Include: s.Include.selection(), Exclude: s.Exclude.selection(),
		}}
		one.Include.Within = s.Within
		if s.When != nil {
			var err error
			compile := policy.CompileCallerCondition
			if s.Within != nil { // It is an owner's.
				compile = policy.CompileOwnedCondition
			}
			if one.When, err = compile(*s.When); err != nil {
				errs = append(errs, fmt.Errorf("sets.%s.when: %w", name, err))
			}
		}
		out[name] = one
	}
	return out, errors.Join(errs...)
}

func (m *SetMembers) selection() overlay.Selection {
	return overlay.Selection{
		Backends: pattern.NewList(m.Backends), Groups: pattern.NewList(m.Groups), Tools: pattern.NewList(m.Tools),
		Prompts: pattern.NewList(m.Prompts), Resources: pattern.NewList(m.Resources),
	}
}

// parts returns the lists of the members by their keys.
func (m *SetMembers) parts() map[string]Names {
	return map[string]Names{"backends": m.Backends, "groups": m.Groups, "tools": m.Tools, "prompts": m.Prompts, "resources": m.Resources}
}

// Overlays returns the sets of a generation for the catalog.
func (g *Generation) Overlays() overlay.Sets {
	out := make(overlay.Sets, len(g.Sets))
	for name, one := range g.Sets {
		out[name] = one.Set
	}
	return out
}

// setName is the form of the names of sets, which are parts of paths and of audiences.
var setName = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)

// validateSets returns the errors of Sets, Root and Set.
func (c *Config) validateSets() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	names := slices.Sorted(maps.Keys(c.Sets))
	for _, name := range names {
		s := c.Sets[name]
		errs = append(errs, c.invalidSet(name, &s)...)
		for _, one := range c.unknownGroups(name, &s) {
			errs = append(errs, errors.New(one))
		}
	}
	if _, err := c.OpenSets(); err != nil {
		errs = append(errs, err)
	}
	if c.Root == "" && c.origins != nil && c.origins.lines["root"] != 0 {
		wrong(`root: "": it says nothing: write off to serve nothing at /mcp, all, or the name of a set`)
	}
	if set, _ := c.RootSet(); set != "" && !slices.Contains(names, set) {
		wrong("root: %q is not a set: use all, off, or the name of one under sets", set)
	}
	if c.Set != "" && !slices.Contains(names, c.Set) && !slices.ContainsFunc(c.Include, func(g Include) bool { return g.grantsSet(c.Set) }) {
		wrong("set: %q is not a set: use the name of one under sets", c.Set)
	}
	return errs
}

// invalidSet returns the errors of a set, except those of When and of groups.
func (c *Config) invalidSet(name string, s *Set) (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case !setName.MatchString(name):
		wrong("sets: %.80q is not a name of a set: use 1 to 63 lower-case letters, digits and -", name)
	case name == RootAll || name == RootOff:
		wrong("sets.%s: it is a value of root: give the set another name", name)
	}
	listed := s.Listed.members()
	switch {
	case s.Search != "" && s.Search != SearchOff && s.Search != SearchOn:
		wrong("sets.%s.search: %q is not %s or %s", name, s.Search, SearchOff, SearchOn)
	case s.Search != SearchOn && len(listed.Backends)+len(listed.Groups)+len(listed.Tools) > 0:
		wrong("sets.%s.listed: the set lists all its tools: write search: on, or leave it out", name)
	}
	for _, kind := range s.AsTools {
		if kind != AsToolsResources {
			wrong("sets.%s.as-tools: %q cannot be tools: write [%s], or leave it out", name, kind, AsToolsResources)
		}
	}
	if s.Schemas != "" && !slices.Contains(forms, s.Schemas) {
		wrong("sets.%s.schemas: %q: use auto, portable or full", name, s.Schemas)
	}
	empty := true
	for key, members := range map[string]*SetMembers{"include": &s.Include, "exclude": &s.Exclude, "listed": listed} {
		parts := members.parts()
		for _, part := range slices.Sorted(maps.Keys(parts)) {
			empty = empty && (key != "include" || len(parts[part]) == 0)
			for _, text := range parts[part] {
				at := fmt.Sprintf("sets.%s.%s.%s", name, key, part)
				switch p := pattern.New(text); {
				case text == "":
					wrong("%s: an entry is empty: write a name, with * or ** for any text", at)
				case part == "backends" && p.Literal() && !c.hasBackendNamed(text):
					wrong("%s: %q is not a backend: use the name of one under backends", at, text)
				}
			}
		}
	}
	if empty {
		wrong("sets.%s: include: it is missing, and the set has nothing: name backends, groups, tools, prompts or resources", name)
	}
	for _, scope := range s.Scopes {
		if why := mcp.NotScope(scope); why != "" {
			wrong("sets.%s.scopes: %q %s", name, scope, why)
		}
	}
	return errs
}

// unknownGroups describes the patterns of a set that match no group of an entry, each with its
// place. They are errors in Sets, and notes in the sets of owners, because the platform may rename
// groups.
func (c *Config) unknownGroups(name string, s *Set) (out []string) {
	if len(s.Include.Groups)+len(s.Exclude.Groups)+len(s.Listed.Groups) == 0 {
		return nil
	}
	groups := c.groups()
	for _, list := range []struct {
		key   string
		texts Names
	}{{"include", s.Include.Groups}, {"exclude", s.Exclude.Groups}, {"listed", s.Listed.Groups}} {
		for _, text := range list.texts {
			if p := pattern.New(text); text != "" && !slices.ContainsFunc(groups, p.Match) {
				out = append(out, fmt.Sprintf("sets.%s.%s.groups: no entry of the catalog has the group %q: write groups: [%s] in one", name, list.key, text, text))
			}
		}
	}
	return out
}

// ownedGroups returns a note for each group in a set of an owner that no entry has.
func (c *Config) ownedGroups() (notes []string) {
	c.inForce(func(_ *Include, p *part) {
		for _, name := range slices.Sorted(maps.Keys(p.settings.Sets)) {
			one := p.settings.Sets[name]
			s := one.set()
			for _, note := range c.unknownGroups(name, &s) {
				notes = append(notes, p.text.locate(note))
			}
		}
	})
	return notes
}

// hasBackendNamed reports whether a name may be that of a backend. Those of clusters and of the demo
// are not known.
func (c *Config) hasBackendNamed(name string) bool {
	return c.Kubernetes != nil || c.Demo || hasBackend(c.Backends, name)
}

// groups returns the groups of all entries of the catalog.
func (c *Config) groups() (all []string) {
	o := c.Overlay()
	for _, list := range [][]overlay.Entry{o.Tools().Entries, o.Prompts().Entries, o.Resources().Entries} {
		for i := range list {
			all = append(all, list[i].Groups...)
		}
	}
	return all
}
