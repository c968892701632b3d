package snapshot

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/snapshot/variance"
)

// properties returns the differences of the keywords about an object's members.
func (s *schemas) properties(at place, g *variance.Group, before, after map[string]any) (out []difference) {
	old, _ := before["properties"].(map[string]any)
	now, _ := after["properties"].(map[string]any)
	for _, name := range keysOf(old, now) {
		a, had := old[name]
		b, kept := now[name]
		here := at.member(name)
		switch {
		case !kept:
			out = append(out, difference{kind: Breaks, text: fmt.Sprintf("the %s %q is gone", s.what, here.path), formal: true})
		case had:
			out = append(out, s.node(here, a, b)...)
			out = append(out, s.header(here, a, b)...)
		case s.input && contains(listOf(after["required"]), name): // reported by required
		case s.free(at, before) || s.fits(orTrue(before["additionalProperties"]), b, here):
			out = append(out, difference{kind: Widens, text: fmt.Sprintf("the %s %q is new", s.what, here.path), formal: true, is: b, shows: true})
		case s.input:
			out = append(out, difference{kind: Breaks, text: fmt.Sprintf("the %s %q is declared now, and accepts less than additional ones did", s.what, here.path), formal: true, is: b, shows: true})
		default:
			out = append(out, difference{kind: Breaks, text: fmt.Sprintf("the %s %q is new, and additionalProperties excluded it", s.what, here.path), formal: true, is: b, shows: true})
		}
	}
	if a, b := orTrue(before["additionalProperties"]), orTrue(after["additionalProperties"]); !s.equal(a, b, at.member("")) {
		kind := Breaks
		if s.fits(a, b, at.member("")) {
			kind = Widens
		}
		out = append(out, difference{kind: kind, text: fmt.Sprintf("additionalProperties%s was %s and is %s", of(s.what, at.path), text(before["additionalProperties"]), text(after["additionalProperties"])), formal: true})
	}
	if a, b := before["patternProperties"], after["patternProperties"]; !reflect.DeepEqual(a, b) {
		if kind, changed := s.kind(at, g, before, after); changed {
			out = append(out, difference{kind: kind, text: fmt.Sprintf("patternProperties%s was %s and is %s", of(s.what, at.path), text(a), text(b)), formal: true})
		}
	}
	return out
}

// free reports whether callers are assumed not to have sent undeclared members, because the old
// schema declares some members and does not allow others explicitly.
func (s *schemas) free(at place, before map[string]any) bool {
	properties, _ := before["properties"].(map[string]any)
	return s.input && before["additionalProperties"] == nil && before["patternProperties"] == nil && (len(properties) > 0 || at.level == 0)
}

// required returns the differences of the required members.
func (s *schemas) required(at place, before, after map[string]any) (out []difference) {
	old, now := listOf(before["required"]), listOf(after["required"])
	more, less := Breaks, Widens
	if !s.input {
		more, less = less, more
	}
	for _, name := range now {
		if !contains(old, name) {
			out = append(out, difference{kind: more, text: fmt.Sprintf("the %s %s%s is required now", s.what, text(name), in(at.path)), formal: true})
		}
	}
	declared, _ := before["properties"].(map[string]any)
	properties, _ := after["properties"].(map[string]any)
	for _, name := range old {
		key, _ := name.(string)
		_, was := declared[key]
		_, is := properties[key]
		if gone := was && !is; !gone && !contains(now, name) { // properties reports a removed member.
			out = append(out, difference{kind: less, text: fmt.Sprintf("the %s %s%s is optional now", s.what, text(name), in(at.path)), formal: true})
		}
	}
	return out
}

// header is the keyword of an argument that clients also send in a header (MCP, "Streamable HTTP",
// "Custom Headers from Tool Parameters").
const header = "x-mcp-header"

// header returns the difference of the header of an argument. A call with the argument is refused
// if it lacks the header, or has it under another name.
func (s *schemas) header(at place, before, after any) []difference {
	old, now := s.headerOf(at, before), s.headerOf(at, after)
	x, _ := before.(map[string]any)
	y, _ := after.(map[string]any)
	switch {
	case strings.EqualFold(old, now) && !reflect.DeepEqual(x[header], y[header]):
		return []difference{{kind: Words, text: header + of(s.what, at.path) + " has changed", was: x[header], is: y[header], shows: true}}
	case strings.EqualFold(old, now):
		return nil
	case now == "":
		return []difference{{kind: Words, text: fmt.Sprintf("%s%s was %q and is absent", header, of(s.what, at.path), old)}}
	case old == "":
		return []difference{{kind: Breaks, text: fmt.Sprintf("%s%s is %q now: calls of the newest revision over HTTP that have the argument are refused without that header", header, of(s.what, at.path), now)}}
	}
	return []difference{{kind: Breaks, text: fmt.Sprintf("%s%s was %q and is %q: calls of the newest revision over HTTP that have the argument are refused without that header", header, of(s.what, at.path), old, now)}}
}

// headerOf returns the name of the header of an argument. It is empty if the argument has none, or
// if clients ignore it.
func (s *schemas) headerOf(at place, schema any) string {
	members, _ := schema.(map[string]any)
	kind, _ := members["type"].(string)
	if !s.input || !at.direct || !slices.Contains([]string{"string", "integer", "boolean"}, kind) {
		return ""
	}
	name, _ := members[header].(string)
	return name
}

// contains reports whether a list contains a value.
func contains(list []any, value any) bool {
	return slices.ContainsFunc(list, func(one any) bool { return variance.Same(one, value) })
}
