package snapshot

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/snapshot/variance"
)

// schemas compares two versions of a schema of a tool. A schema of arguments must not accept less
// than before, and one of results must not accept more.
type schemas struct {
	// what names the described values in texts: "argument" or "member of the result".
	what          string
	input         bool
	before, after *variance.Doc
	// compatible compares in the direction on which callers rely, in the mode Input or Output. forth
	// and back compare the valid values only, in both directions.
	compatible, forth, back *variance.Pair
	// met has the pairs of schemas that are being compared, or that have no differences.
	met         map[[2]uintptr]bool
	left, nodes int
}

// difference is one difference between schemas.
type difference struct {
	kind Kind
	text string
	// formal means that the difference concerns the valid values only. A difference of the whole
	// schema may replace it.
	formal bool
	// was and is are the old and the new value for a reviewer. They are shown if shows is true.
	was, is any
	shows   bool
}

// maxDifferences bounds the reported differences of one schema, maxNodes the compared places, and
// maxLevels their depth. Recursive schemas would have no end.
const (
	maxDifferences = 100
	maxNodes       = 2000
	maxLevels      = 40
)

// schema compares two versions of a schema. what names the described values in reports. input is
// true for arguments.
func (c *comparison) schema(what string, before, after any, input bool) {
	s := &schemas{what: what, input: input, before: variance.New(before), after: variance.New(after), left: maxDifferences, met: map[[2]uintptr]bool{}}
	s.forth, s.back = variance.NewPair(s.before, s.after, variance.Plain), variance.NewPair(s.after, s.before, variance.Plain)
	if s.compatible = variance.NewPair(s.before, s.after, variance.Input); !input {
		s.compatible = variance.NewPair(s.after, s.before, variance.Output)
	}
	if s.before.Opaque() || s.after.Opaque() {
		if s.forth.Same(before, after) {
			c.reworded("texts of the schema have changed", before, after)
		} else {
			c.add(Breaks, "the schema has keywords that its dialect reads in another way than 2020-12, and cannot be compared with what it was")
		}
		return
	}
	for _, d := range s.node(place{direct: true}, before, after) {
		c.add(d.kind, "%s", d.text)
		if d.shows {
			last := &c.changes[len(c.changes)-1]
			last.Was, last.Is = quoted(d.was, d.is)
		}
	}
}

// place is the position of a value that a schema describes.
type place struct {
	path string
	// level is the depth of the place: the number of members and elements above it.
	level int
	// direct is true if the path to the place contains only `properties`.
	direct bool
}

func (p place) member(name string) place {
	if p.path != "" {
		name = p.path + "." + name
	}
	return place{name, p.level + 1, p.direct}
}

func (p place) branch(keyword string) place {
	return place{p.path + "(" + keyword + ")", p.level, false}
}

// fits reports whether callers that rely on the schema before can rely on the schema after.
func (s *schemas) fits(before, after any, at place) bool {
	if s.input {
		return s.compatible.Within(before, after, at.level)
	}
	return s.compatible.Within(after, before, at.level)
}

func (s *schemas) equal(before, after any, at place) bool {
	return s.forth.Within(before, after, at.level) && s.back.Within(after, before, at.level)
}

// node returns the differences between the schemas at a place.
func (s *schemas) node(at place, before, after any) []difference {
	key := [2]uintptr{identity(before), identity(after)}
	if s.nodes++; s.left <= 0 || s.met[key] || s.nodes > maxNodes || at.level > maxLevels {
		return nil // Beyond a bound, a schema is compared as a part of the schema that contains it.
	}
	s.met[key] = true
	x, y := s.before.Normal(before), s.after.Normal(after)
	out := s.details(at, x, y)
	formal := func(d difference) bool { return d.formal }
	breaks := slices.ContainsFunc(out, func(d difference) bool { return d.kind == Breaks && d.formal })
	rebuilt := slices.ContainsFunc(combining, func(keyword string) bool { return (x[keyword] == nil) != (y[keyword] == nil) })
	subject, fits := "the schema"+of(s.what, at.path), s.fits(before, after, at)
	switch {
	case !fits && (rebuilt || !breaks):
		if rebuilt {
			out = slices.DeleteFunc(out, formal)
		}
		out = append(out, difference{kind: Breaks, text: subject + " has changed, and " + s.either("may accept less", "may allow more"), formal: true, was: before, is: after, shows: true})
	case fits && (rebuilt || breaks || len(out) == 0 && !reflect.DeepEqual(withoutHeader(before), withoutHeader(after))):
		// The whole schema is compatible, so the differences of single keywords are dropped.
		out = slices.DeleteFunc(out, formal)
		d := difference{kind: Words, text: subject + " is written otherwise, and means the same", formal: true, was: before, is: after, shows: true}
		if !s.equal(before, after, at) {
			d.kind, d.text = Widens, subject+" is written otherwise, and "+s.either("accepts what it accepted", "allows no more")
		}
		out = append(out, d)
	}
	s.left -= len(out)
	s.met[key] = len(out) == 0 // A pair with differences is reported at each of its places, up to maxDifferences.
	return out
}

// combining are the keywords that combine schemas. If one is added or removed, other keywords may
// have moved into its branches or out of them.
var combining = []string{"anyOf", "oneOf", "allOf", "$ref"}

func (s *schemas) either(input, output string) string {
	if s.input {
		return input
	}
	return output
}

// withoutHeader returns a schema without x-mcp-header, which is reported with its member.
func withoutHeader(schema any) any {
	members, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	members = maps.Clone(members)
	delete(members, header)
	return members
}

// identity returns the address of a schema that is an object, and otherwise 1 for false and 0 for
// true or an absent schema.
func identity(schema any) uintptr {
	if m, ok := schema.(map[string]any); ok {
		return reflect.ValueOf(m).Pointer()
	}
	if schema == false {
		return 1
	}
	return 0
}

// details returns the differences between the keywords of normal schemas.
func (s *schemas) details(at place, before, after map[string]any) (out []difference) {
	for _, keyword := range keysOf(before, after) {
		old, now := before[keyword], after[keyword]
		if variance.Constrains(keyword) || reflect.DeepEqual(old, now) {
			continue
		}
		out = append(out, s.annotation(at, keyword, old, now)...)
	}
	for _, g := range variance.Groups(before, after) {
		switch g.Keywords[0] {
		case "properties":
			out = append(out, s.properties(at, g, before, after)...)
		case "required":
			out = append(out, s.required(at, before, after)...)
		case "prefixItems":
			if before["prefixItems"] == nil && after["prefixItems"] == nil {
				out = append(out, s.node(place{at.path + "[]", at.level + 1, false}, orTrue(before["items"]), orTrue(after["items"]))...)
				continue
			}
			out = append(out, s.group(at, g, before, after)...)
		case "type":
			out = append(out, s.values("the type", at, g, before, after)...)
		case "enum":
			out = append(out, s.values("the values", at, g, before, after)...)
		case "anyOf", "oneOf":
			out = append(out, s.alternatives(at, g, before, after)...)
		default:
			out = append(out, s.group(at, g, before, after)...)
		}
	}
	return out
}

// annotation returns the difference of a keyword that constrains no values.
func (s *schemas) annotation(at place, keyword string, before, after any) []difference {
	switch keyword {
	case "$defs", "definitions", header:
		return nil // Their schemas are compared where they are used.
	case "default":
		if s.input && before != nil && after != nil {
			return []difference{{kind: Changes, text: fmt.Sprintf("default%s was %s and is %s", of(s.what, at.path), text(before), text(after))}}
		}
	}
	return []difference{{kind: Words, text: keyword + of(s.what, at.path) + " has changed", was: before, is: after, shows: true}}
}

// kind returns the kind of a change of a group of keywords. changed is false if the group has the
// same meaning.
func (s *schemas) kind(at place, g *variance.Group, before, after map[string]any) (kind Kind, changed bool) {
	fits := s.input && s.compatible.Fits(g, before, after, at.level) || !s.input && s.compatible.Fits(g, after, before, at.level)
	switch {
	case !fits:
		return Breaks, true
	case s.forth.Fits(g, before, after, at.level) && s.back.Fits(g, after, before, at.level):
		return Words, false
	}
	return Widens, true
}

// group returns the differences between the keywords of a group.
func (s *schemas) group(at place, g *variance.Group, before, after map[string]any) (out []difference) {
	kind, changed := s.kind(at, g, before, after)
	for _, keyword := range g.Keywords {
		if old, now := before[keyword], after[keyword]; changed && !variance.Same(old, now) && !strings.HasPrefix(keyword, "$malformed") {
			out = append(out, difference{kind: kind, text: fmt.Sprintf("%s%s was %s and is %s", keyword, of(s.what, at.path), text(old), text(now)), formal: true})
		}
	}
	return out
}

// values returns the difference of a keyword with a list of types or values. subject names the list
// in the text.
func (s *schemas) values(subject string, at place, g *variance.Group, before, after map[string]any) []difference {
	kind, changed := s.kind(at, g, before, after)
	if !changed {
		return nil
	}
	list := func(of map[string]any) string {
		if value, has := of[g.Keywords[0]]; has {
			return text(listOf(value))
		}
		return "any"
	}
	return []difference{{kind: kind, text: fmt.Sprintf("%s%s: %s, before %s", subject, of(s.what, at.path), list(after), list(before)), formal: true}}
}

// alternatives returns the differences of anyOf or oneOf. Equal alternatives are ignored.
func (s *schemas) alternatives(at place, g *variance.Group, before, after map[string]any) []difference {
	kind, changed := s.kind(at, g, before, after)
	keyword := g.Keywords[0]
	old, now := slices.Clone(listOf(before[keyword])), slices.Clone(listOf(after[keyword]))
	for i := 0; i < len(old); i++ {
		for j := range now {
			if s.forth.Same(old[i], now[j]) && reflect.DeepEqual(old[i], now[j]) {
				old, now = slices.Delete(old, i, i+1), slices.Delete(now, j, j+1)
				i--
				break
			}
		}
	}
	switch {
	case len(old) == 1 && len(now) == 1:
		return s.node(at.branch(keyword), old[0], now[0])
	case !changed:
		return nil
	case len(old) == 0 && before[keyword] != nil:
		return []difference{{kind: kind, text: fmt.Sprintf("%s%s has a further alternative: %s", keyword, of(s.what, at.path), text(now)), formal: true, is: now, shows: true}}
	case len(now) == 0 && after[keyword] != nil:
		return []difference{{kind: kind, text: fmt.Sprintf("%s%s has an alternative less: %s", keyword, of(s.what, at.path), text(old)), formal: true}}
	}
	return s.group(at, g, before, after)
}

func orTrue(schema any) any {
	if schema == nil {
		return true
	}
	return schema
}

// listOf returns a list unchanged, and another value as a list of one element. It returns nil for
// nil.
func listOf(value any) []any {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{value}
}

// of returns a text that names the value at a path.
func of(what, path string) string {
	if path == "" {
		return ""
	}
	return " of the " + what + " \"" + path + "\""
}

func in(path string) string {
	if path == "" {
		return ""
	}
	return " of \"" + path + "\""
}
