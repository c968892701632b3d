package snapshot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/lock"
)

// CompareDefinitions returns the changes of the definitions, the most serious first. Definitions
// are the tools as their backends list them, including tools that no caller sees. A change has the
// name of NameOf.
func CompareDefinitions(before, after *Snapshot) []Change {
	c := comparison{what: "tool"}
	now := map[[2]string]*lock.Definition{}
	for i := range after.Definitions {
		d := &after.Definitions[i]
		now[[2]string{d.Backend, d.Tool}] = d
	}
	for i := range before.Definitions {
		old := &before.Definitions[i]
		key := [2]string{old.Backend, old.Tool}
		c.name = NameOf(*old)
		if same := now[key]; same != nil {
			c.definition(old, same)
			delete(now, key)
		} else {
			c.add(Breaks, "its backend does not list it any more")
		}
	}
	for i := range after.Definitions {
		if d := &after.Definitions[i]; now[[2]string{d.Backend, d.Tool}] == d {
			c.name = NameOf(*d)
			c.changes = append(c.changes, Change{Widens, c.what, c.name, "it is not in the lock", "", listedText(d.Listed)})
		}
	}
	slices.SortStableFunc(c.changes, func(a, b Change) int { return cmp.Compare(b.Kind, a.Kind) })
	return c.changes
}

// NameOf returns the name of a definition in changes and for Accept: BACKEND/TOOL.
func NameOf(d lock.Definition) string { return d.Backend + "/" + d.Tool }

// Accept replaces the definition of a tool by that of from, or removes it if from has none. name is
// that of NameOf, or a tool's own name if only one backend has it. done says what Accept did.
func (s *Snapshot) Accept(from *Snapshot, name string) (done string, err error) {
	var names []string
	for _, d := range slices.Concat(s.Definitions, from.Definitions) {
		if full := NameOf(d); full == name {
			names = []string{full}
			break
		} else if d.Tool == name && !slices.Contains(names, full) {
			names = append(names, full)
		}
	}
	switch len(names) {
	case 0:
		return "", fmt.Errorf("no backend lists a tool %q: write BACKEND/TOOL, with the tool's own name, without a prefix", name)
	case 1:
	default:
		return "", fmt.Errorf("several backends list a tool %q: write one of %s", name, strings.Join(names, ", "))
	}
	is := func(d lock.Definition) bool { return NameOf(d) == names[0] }
	was := slices.IndexFunc(s.Definitions, is)
	now := slices.IndexFunc(from.Definitions, is)
	switch {
	case now < 0:
		s.Definitions = slices.Delete(s.Definitions, was, was+1)
		return "dropped " + names[0] + ", which its backend does not list any more", nil
	case was < 0:
		s.Definitions = append(s.Definitions, from.Definitions[now])
		return "added " + names[0], nil
	case len(s.Definitions[was].Differing(from.Definitions[now])) == 0:
		return names[0] + " did not differ", nil
	}
	s.Definitions[was] = from.Definitions[now]
	return "replaced " + names[0], nil
}

// listedText returns a listed tool for a reviewer. It is empty if the tool was not recorded.
func listedText(l lock.Listed) string {
	if l == "" {
		return ""
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(l)) != nil { // Read keeps the indentation of the file.
		return clipped([]rune(l), 0, len([]rune(l)))
	}
	text := []rune(compact.String())
	return clipped(text, 0, len(text))
}

// definition compares two definitions of the same tool, part by part.
func (c *comparison) definition(before, after *lock.Definition) {
	parts := after.Differing(*before)
	if len(parts) > 0 && (before.Listed == "" || after.Listed == "") {
		c.changes = append(c.changes, Change{Breaks, c.what, c.name, strings.Join(parts, ", ") + " differ, and one of the files does not have what its backend listed",
			listedText(before.Listed), listedText(after.Listed)})
		return
	}
	for _, part := range parts {
		old, now := partOf(before.Listed, part), partOf(after.Listed, part)
		said := len(c.changes)
		if comparable(old, inputSchema, outputSchema) && comparable(now, inputSchema, outputSchema) {
			c.entry(&Entry{Backend: before.Backend, Name: before.Tool, Shown: encode(old)}, &Entry{Backend: before.Backend, Name: before.Tool, Shown: encode(now)})
		}
		if len(c.changes) == said {
			c.reworded(part+" is written otherwise", old, now)
		}
	}
}

// comparable reports whether the members schemas of an object are absent or schemas. A backend's
// invalid JSON is a string.
func comparable(of map[string]any, schemas ...string) bool {
	return !slices.ContainsFunc(schemas, func(member string) bool { _, isText := of[member].(string); return isText })
}

// partOf returns the members of a listed tool that belong to a part of its definition.
func partOf(listed lock.Listed, part string) map[string]any {
	out := map[string]any{}
	for member, value := range object(json.RawMessage(listed)) {
		if lock.PartOf(member) == part {
			out[member] = value
		}
	}
	return out
}

func encode(members map[string]any) json.RawMessage {
	raw, _ := json.Marshal(members)
	return raw
}
