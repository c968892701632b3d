package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/lock"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/catalog/snapshot"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// Snapshot returns the lists that a caller sees of a pool's backends now, under the newest
// revision, through an overlay and in a set, and the number of entries that access hides. Overlay,
// set and access may be nil. It includes the definitions of all tools. For a set with search it has
// all tools, and marks those that are not listed.
func Snapshot(
	pool *backend.Pool, o *overlay.Overlay, set *overlay.Set, access Visibility, who *mcp.Principal,
) (now *snapshot.Snapshot, hidden int) {
	v := viewOf(pool, o, set)
	all := v.visibleTo(who)
	v.access = access
	s := v.visibleTo(who)
	now = &snapshot.Snapshot{
		Tools: v.snapshotTools(s), Prompts: v.snapshot(s.prompts), Resources: v.snapshot(s.resources),
		Templates: v.snapshot(s.templates), Skills: v.snapshot(s.skills),
	}
	for _, p := range v.Parts {
		for _, t := range p.Catalog.Tools {
			now.Definitions = append(now.Definitions, lock.Recorded(p.Backend.Name(), t))
		}
	}
	if set != nil {
		now.Set = set.Name
	}
	hidden = len(v.snapshotTools(all)) - len(now.Tools)
	for _, kind := range []listKind{listPrompts, listResources, listTemplates, listSkills} {
		hidden += len(all.list(kind).Entries) - len(s.list(kind).Entries)
	}
	return now, hidden
}

// snapshotTools returns the tools that a caller sees: the listed ones and, with search, those that
// find_tools finds.
func (v *View) snapshotTools(s *visibleLists) []snapshot.Entry {
	out := v.snapshot(s.tools)
	if v.search == nil {
		return out
	}
	listed := make(map[string]bool, len(s.tools.Entries))
	for _, e := range s.tools.Entries {
		listed[e.key] = true
	}
	found := v.Tools.List.subset(func(i int) bool { return (s.visible == nil || s.visible[i]) && !listed[v.Tools.List.Entries[i].key] })
	for _, one := range v.snapshot(found) {
		one.Unlisted = true
		out = append(out, one)
	}
	return out
}

// snapshot returns the entries of a list that can be rendered.
func (v *View) snapshot(l *list) (out []snapshot.Entry) {
	all := l.under(revision.Stateless())
	for _, item := range all.items {
		e := l.Entries[item.entry]
		one := snapshot.Entry{Name: e.key, Backend: e.owner, Aliases: e.aliases, Shown: json.RawMessage(all.text(&item))}
		switch {
		case e.owner == ownTools:
			out = append(out, one)
			continue
		case l.kind == listTools:
			t := v.Tools.ByName[e.key]
			one.Sends, one.MaxResultTokens = sends(t.Name, t.Arguments), t.MaxTokens
		case l.kind == listPrompts:
			one.Sends = sends(e.target.Name, v.Prompts.byName[e.key].Arguments)
		}
		if (l.kind == listTools || l.kind == listPrompts) && e.target.Name != e.key {
			one.Canonical = e.target.Name
		}
		out = append(out, one)
	}
	return out
}

// sends returns the arguments that the edge adds to calls of a tool or prompt with a canonical
// name.
func sends(canonical string, arguments []overlay.Argument) (out []snapshot.Sent) {
	for i := range arguments {
		a := &arguments[i]
		one := snapshot.Sent{Argument: a.Name}
		switch pin := a.Pin.(type) {
		case nil:
			if one.Default = a.Default; len(a.Default) == 0 {
				continue
			}
		case overlay.Fixed:
			one.Value = snapshot.Digest(canonical, a.Name, json.RawMessage(pin))
		case fmt.Stringer:
			one.From = pin.String()
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b snapshot.Sent) int { return cmp.Compare(a.Argument, b.Argument) })
	return out
}
