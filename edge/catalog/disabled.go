package catalog

import (
	"cmp"
	"errors"
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

// prefix returns the prefix of a backend's names; empty without such a backend.
func (v *View) prefix(name string) string {
	for i := range v.Parts {
		if b := v.Parts[i].Backend; b.Name() == name {
			return b.Prefix()
		}
	}
	return ""
}

// disables reports whether an operator has disabled an object, its backend or the view's set. Only
// tools are disabled as objects.
func (v *View) disables(t *policy.Target) bool {
	return v.refused != nil && (v.refused.HasBackend(t.Backend) || t.Kind == policy.Tool && v.refused.HasTool(t.Backend, t.Name) || v.setDisabled())
}

// setDisabled reports whether the view is that of a disabled set.
func (v *View) setDisabled() bool { return v.set != nil && v.refused.HasSet(v.set.Name) }

// Disabled returns the error for a request whose target, backend or set an operator has disabled,
// or nil. The request has a target if its Backend is set, or if it calls one of the edge's own
// tools. Callers from whom the target is hidden must not see the error.
func (t *Target) Disabled() *mcp.Error {
	setDisabled := t.view.setDisabled()
	if t.Own && !setDisabled || !t.Own && (t.Backend == nil || !t.view.disables(t.Policy)) {
		return nil
	}
	what := "the resource " + strconv.Quote(Clip(t.name))
	switch {
	case setDisabled:
		return errDisabled("this endpoint")
	case t.method == mcp.MethodToolsCall:
		what = "the tool " + strconv.Quote(Clip(t.shown))
	case t.method == mcp.MethodPromptsGet:
		what = "the prompt " + strconv.Quote(Clip(t.shown))
	case t.Completion != nil:
		what = strconv.Quote(Clip(t.Completion.Target))
	}
	return errDisabled(what)
}

// DisabledVia is Disabled for a request that was made through a tool of the edge. It returns an
// error if an operator has disabled the set with that tool. via is the tool. It returns nil for an
// empty via, which means a direct request.
func (t *Target) DisabledVia(via string) *mcp.Error {
	if via == "" || t.view == nil || !t.view.setDisabled() {
		return nil
	}
	return errDisabled("this endpoint")
}

func errDisabled(what string) *mcp.Error {
	return mcp.Errorf(mcp.KindForbidden, "%s is disabled by the operator of this server: do without it until it is enabled again", what)
}

// Find returns the object with a name: a tool of the root, a backend or a set. A tool is found by
// its canonical name, its shown name or an alias. An empty kind means any. If of is the backend of
// a tool, name may lack the prefix, and the backend need not list a name with the prefix. The error
// is a *disabled.NotFoundError, or says that several objects have the name.
func (c *Catalog) Find(kind disabled.Kind, of, name string) (disabled.Found, error) {
	is := func(k disabled.Kind) bool { return cmp.Or(kind, k) == k }
	switch {
	case name == "":
		return disabled.Found{}, errors.New("name the tool, the backend or the set")
	case len(name) > disabled.MaxName:
		return disabled.Found{}, fmt.Errorf("name: it has %d bytes, the limit is %d", len(name), disabled.MaxName)
	case !slices.Contains([]disabled.Kind{"", disabled.Tool, disabled.Backend, disabled.Set}, kind):
		return disabled.Found{}, fmt.Errorf("kind %q: it is tool, backend or set", Clip(string(kind)))
	case of != "" && !is(disabled.Tool):
		return disabled.Found{}, fmt.Errorf("a %s has no backend: leave backend out", kind)
	case of != "":
		return c.findOf(of, name)
	}
	var found []disabled.Found
	if is(disabled.Tool) {
		found = c.Shared().toolsNamed(name)
	}
	if is(disabled.Backend) && c.backend(name) != nil {
		found = append(found, disabled.Found{ID: disabled.ID{Kind: disabled.Backend, Name: name}})
	}
	if _, ok := (*c.views.sets.Load())[name]; ok && is(disabled.Set) {
		found = append(found, disabled.Found{ID: disabled.ID{Kind: disabled.Set, Name: name}})
	}
	if len(found) > 0 {
		return one(name, found)
	}
	if is(disabled.Tool) && isOwnTool(name) {
		return disabled.Found{}, ownToolNotFound(name)
	}
	missing := &disabled.NotFoundError{Name: name, Message: fmt.Sprintf(
		"there is no %s %q: a tool that is not listed now, or only to some callers, is named with its backend", cmp.Or(string(kind), "tool, backend or set"), Clip(name))}
	if is(disabled.Tool) {
		missing.Known = c.Shared().toolNames("")
	}
	if is(disabled.Backend) {
		missing.Known = append(missing.Known, c.backendNames()...)
	}
	if is(disabled.Set) {
		missing.Known = slices.AppendSeq(missing.Known, maps.Keys(*c.views.sets.Load()))
	}
	return disabled.Found{}, missing
}

// backendNames returns the names of the configured backends.
func (c *Catalog) backendNames() (names []string) {
	for _, b := range c.views.backends() {
		names = append(names, b.Name())
	}
	return names
}

// toolNames returns the canonical and shown names, and the aliases, of a backend's tools in a view.
// An empty backend means all.
func (v *View) toolNames(of string) (names []string) {
	for name, t := range v.Tools.ByName {
		if of == "" || t.Owner.Name() == of {
			names = append(names, name)
		}
	}
	for own := range v.Tools.byCanonical {
		if of == "" || own.backend == of {
			names = append(names, own.name)
		}
	}
	return names
}

// backend returns the configured backend of a name, or nil.
func (c *Catalog) backend(name string) *backend.Backend {
	for _, b := range c.views.backends() {
		if b.Name() == name {
			return b
		}
	}
	return nil
}

// findOf finds a tool of the backend of.
func (c *Catalog) findOf(of, name string) (disabled.Found, error) {
	b := c.backend(of)
	if b == nil {
		return disabled.Found{}, &disabled.NotFoundError{
			Name: of, Known: c.backendNames(), Message: fmt.Sprintf("there is no backend %q: GET /v1/backends lists them", Clip(of)),
		}
	}
	v := c.Shared()
	others := func(f disabled.Found) bool { return f.Backend != of }
	found := slices.DeleteFunc(v.toolsNamed(name), others)
	prefix := b.Prefix()
	if len(found) == 0 {
		found = slices.DeleteFunc(v.toolsNamed(prefix+name), others)
	}
	if own, prefixed := strings.CutPrefix(name, prefix); len(found) == 0 && prefixed && own != "" {
		return disabled.Found{ID: disabled.ID{Kind: disabled.Tool, Name: own, Backend: of}, Canonical: name, Unlisted: true}, nil
	}
	if len(found) > 0 {
		return one(name, found)
	}
	return disabled.Found{}, &disabled.NotFoundError{Name: name, Known: v.toolNames(of), Message: fmt.Sprintf(
		"the backend %q does not list a tool %q: one that it does not list now, or only to some callers, is named with its prefix, %q", of, Clip(name), prefix)}
}

// one returns the only one that was found, or an error that names them all.
func one(name string, found []disabled.Found) (disabled.Found, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	texts := make([]string, len(found))
	for i, f := range found {
		if texts[i] = fmt.Sprintf("the %s %q", f.Kind, Clip(cmp.Or(f.Canonical, f.Name))); f.Kind == disabled.Tool {
			texts[i] += fmt.Sprintf(" of the backend %q", f.Backend)
		}
	}
	return disabled.Found{}, fmt.Errorf("%q is a name of %s: name one of them, with its kind and, for a tool, its backend", Clip(name), strings.Join(texts, " and "))
}

// toolsNamed returns the tools of a view with a canonical name, shown name or alias.
func (v *View) toolsNamed(name string) []disabled.Found {
	found := map[canonicalName]bool{}
	if t := v.Tools.ByName[name]; t != nil {
		found[canonicalName{t.Owner.Name(), t.Name}] = true
	}
	if r := v.Tools.reserved[name]; r.owner != nil {
		found[canonicalName{r.owner.Name(), r.name}] = true
	}
	for own := range v.Tools.byCanonical {
		if own.name == name {
			found[own] = true
		}
	}
	out := make([]disabled.Found, 0, len(found))
	for n := range found {
		id := disabled.ID{Kind: disabled.Tool, Name: strings.TrimPrefix(n.name, v.prefix(n.backend)), Backend: n.backend}
		out = append(out, disabled.Found{ID: id, Canonical: n.name})
	}
	slices.SortFunc(out, func(a, b disabled.Found) int { return cmp.Compare(a.Backend, b.Backend) })
	return out
}
