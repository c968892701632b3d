package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// without returns a view that does not list what is disabled. Names and URIs resolve as in v, so that requests for what is disabled can
// be refused as such, and no other backend gets them.
func (v *View) without(l *disabled.List) *View {
	n := &View{
		Parts: v.Parts, owners: v.owners, Features: v.Features, conflicts: v.conflicts, Digest: v.Digest, overlay: v.overlay, access: v.access, locked: v.locked,
		skills: v.skills, pages: v.pages, sets: v.sets, disabled: l, enabled: v, instructions: v.instructions, private: v.private,
		missing: v.missing, failed: v.failed,
	}
	tools, resources, prompts := *v.Tools, *v.Resources, *v.Prompts
	tools.List = tools.List.enabled(l)
	resources.List, resources.TemplateList, resources.skillList = resources.List.enabled(l), resources.TemplateList.enabled(l), resources.skillList.enabled(l)
	prompts.List = prompts.List.enabled(l)
	n.Tools, n.Resources, n.Prompts = &tools, &resources, &prompts
	if tools.List != v.Tools.List {
		n.Digest.Tools = digestOf(tools.List)
	}
	if resources.List != v.Resources.List || resources.TemplateList != v.Resources.TemplateList || resources.skillList != v.Resources.skillList {
		n.Digest.Resources = digestOf(resources.List, resources.TemplateList, resources.skillList)
	}
	if prompts.List != v.Prompts.List {
		n.Digest.Prompts = digestOf(prompts.List)
	}
	return n
}

// enabled returns the entries of a list that are not disabled: l itself if none of its entries is.
func (l *list) enabled(by *disabled.List) *list {
	is := func(e *entry) bool { return disables(by, &e.target, e.owner) }
	if !slices.ContainsFunc(l.Entries, is) {
		return l
	}
	return l.subset(func(i int) bool { return !is(l.Entries[i]) })
}

// disables reports whether a tool is disabled, or the backend of anything else.
func disables(by *disabled.List, t *policy.Target, owner string) bool {
	return by.HasBackend(owner) || t.Kind == policy.Tool && by.HasTool(owner, t.Name)
}

// disables reports whether an object, its backend or the view's set is disabled.
func (v *View) disables(t *policy.Target) bool {
	return v.disabled != nil && (disables(v.disabled, t, t.Backend) || v.set != nil && v.disabled.HasSet(v.set.Name))
}

// Disabled returns the error of a request whose target, its backend or its set an operator has disabled, or nil. It has a target if its
// Backend is set. Callers from whom the target is hidden must not see the error.
func (t *Target) Disabled() *mcp.Error {
	if t.Backend == nil || !t.view.disables(t.Policy) {
		return nil
	}
	what := "the resource " + strconv.Quote(Clip(t.name))
	switch {
	case t.view.set != nil && t.view.disabled.HasSet(t.view.set.Name):
		what = "this endpoint"
	case t.method == mcp.MethodToolsCall:
		what = "the tool " + strconv.Quote(Clip(t.shown))
	case t.method == mcp.MethodPromptsGet:
		what = "the prompt " + strconv.Quote(Clip(t.shown))
	case t.Completion != nil:
		what = strconv.Quote(Clip(t.Completion.Target))
	}
	return mcp.Errorf(mcp.KindForbidden, "%s is disabled by the operator of this server: do without it until it is enabled again", what)
}

// Find returns the ID of what an operator names: a tool of the root by its canonical or shown name or by an alias, a backend, or a set.
// An empty kind means any. With the backend of a tool, name is the canonical one, and the backend need not list it. The error is a
// *disabled.NotFoundError, or says that several have the name and how to name one.
func (c *Catalog) Find(kind disabled.Kind, of, name string) (disabled.ID, error) {
	var found []disabled.ID
	is := func(k disabled.Kind) bool { return cmp.Or(kind, k) == k }
	isBackend := func(name string) bool {
		return slices.ContainsFunc(c.views.backends(), func(b *backend.Backend) bool { return b.Name() == name })
	}
	switch {
	case name == "":
		return disabled.ID{}, fmt.Errorf("name the tool, the backend or the set")
	case !slices.Contains([]disabled.Kind{"", disabled.Tool, disabled.Backend, disabled.Set}, kind):
		return disabled.ID{}, fmt.Errorf("kind %q: it is tool, backend or set", kind)
	case of != "" && !is(disabled.Tool):
		return disabled.ID{}, fmt.Errorf("a %s has no backend: leave backend out", kind)
	case of != "" && !isBackend(of):
		return disabled.ID{}, &disabled.NotFoundError{Message: fmt.Sprintf("there is no backend %q: GET /v1/backends lists them", Clip(of))}
	case of != "":
		return disabled.ID{Kind: disabled.Tool, Name: name, Backend: of}, nil
	}
	if is(disabled.Tool) {
		found = c.Shared().toolsNamed(name)
	}
	if is(disabled.Backend) && isBackend(name) {
		found = append(found, disabled.ID{Kind: disabled.Backend, Name: name})
	}
	if _, ok := (*c.views.sets.Load())[name]; ok && is(disabled.Set) {
		found = append(found, disabled.ID{Kind: disabled.Set, Name: name})
	}
	switch len(found) {
	case 0:
		return disabled.ID{}, &disabled.NotFoundError{Message: fmt.Sprintf(
			"there is no %s %q: a tool that is not listed now, or only to some callers, is named with its backend", cmp.Or(string(kind), "tool, backend or set"), Clip(name))}
	case 1:
		return found[0], nil
	}
	return disabled.ID{}, ambiguous(name, found)
}

// ambiguous returns the error for a name of several.
func ambiguous(name string, found []disabled.ID) error {
	texts := make([]string, len(found))
	for i, id := range found {
		if texts[i] = fmt.Sprintf("the %s %q", id.Kind, Clip(id.Name)); id.Kind == disabled.Tool {
			texts[i] += fmt.Sprintf(" of the backend %q", id.Backend)
		}
	}
	return fmt.Errorf("%q is a name of %s: name one of them, with its kind and, for a tool, its backend", Clip(name), strings.Join(texts, " and "))
}

// toolsNamed returns the tools of a view with a canonical name, shown name or alias.
func (v *View) toolsNamed(name string) []disabled.ID {
	found := map[disabled.ID]bool{}
	add := func(backend, name string) {
		found[disabled.ID{Kind: disabled.Tool, Name: name, Backend: backend}] = true
	}
	if t := v.Tools.ByName[name]; t != nil {
		add(t.Owner.Name(), t.Name)
	}
	if r := v.Tools.reserved[name]; r.owner != nil {
		add(r.owner.Name(), r.name)
	}
	for own := range v.Tools.own {
		if own.name == name {
			add(own.backend, own.name)
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b disabled.ID) int { return cmp.Compare(a.Backend, b.Backend) })
}
