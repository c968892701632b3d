package variance

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Group is a group of keywords that depend on each other. A value is valid by a schema if it is
// valid by each of the schema's groups.
type Group struct {
	// Keywords are the keywords of the group.
	Keywords []string
	// of is the set of types that the group constrains. 0 means all types.
	of types
}

var groups = []Group{
	{[]string{"type"}, 0}, {[]string{"enum"}, 0},
	{[]string{"minimum", "exclusiveMinimum"}, isInteger | isFraction}, {[]string{"maximum", "exclusiveMaximum"}, isInteger | isFraction},
	{[]string{"multipleOf"}, isInteger | isFraction},
	{[]string{"minLength"}, isString}, {[]string{"maxLength"}, isString},
	{[]string{"minItems"}, isArray}, {[]string{"maxItems"}, isArray}, {[]string{"uniqueItems"}, isArray},
	{[]string{"minProperties"}, isObject}, {[]string{"maxProperties"}, isObject},
	{[]string{"pattern"}, isString}, {[]string{"format"}, isString},
	{[]string{"contentEncoding"}, isString}, {[]string{"contentMediaType"}, isString}, {[]string{"contentSchema"}, isString},
	{[]string{"required"}, isObject}, {[]string{"dependentRequired"}, isObject},
	{[]string{"properties", "patternProperties", "additionalProperties"}, isObject}, {[]string{"propertyNames"}, isObject},
	{[]string{"prefixItems", "items", "additionalItems"}, isArray}, {[]string{"contains", "minContains", "maxContains"}, isArray},
	{[]string{"if", "then", "else"}, 0}, {[]string{"dependentSchemas"}, isObject}, {[]string{"dependencies"}, isObject},
	{[]string{"not"}, 0}, {[]string{"anyOf"}, 0}, {[]string{"oneOf"}, 0}, {[]string{"allOf"}, 0},
	{[]string{"$ref", "$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor", malformed}, 0},
	{[]string{"unevaluatedProperties", "unevaluatedItems"}, 0},
}

// fits reports whether it is proved that the values that a accepts are valid by a group of b. b has
// keywords of the group, and they differ from those of a. It is false for groups that it does not
// know.
func (p *Pair) fits(g *Group, a, b map[string]any) bool {
	switch keyword := g.Keywords[0]; keyword {
	case "type":
		return typesOf(a)&^namedTypes(b["type"]) == 0
	case "enum":
		return fitsEnum(a, b)
	case "minimum":
		return fitsBound(a, b, "minimum", "exclusiveMinimum", 1)
	case "maximum":
		return fitsBound(a, b, "maximum", "exclusiveMaximum", -1)
	case "multipleOf":
		return fitsMultiple(a, b)
	case "minLength", "minItems", "minProperties":
		return atLeast(a[keyword], b[keyword])
	case "maxLength", "maxItems", "maxProperties":
		return atMost(a[keyword], b[keyword])
	case "uniqueItems":
		return b[keyword] == false || a[keyword] == true
	case "required":
		return allIn(listOf(b[keyword]), listOf(a[keyword]))
	case "dependentRequired":
		return fitsDependent(a, b)
	case "properties":
		return p.fitsMembers(a, b)
	case "propertyNames":
		return p.childWithin(orTrue(a[keyword]), b[keyword])
	case "prefixItems":
		return p.fitsElements(a, b)
	case "not":
		return fitsNot(a, b)
	case "anyOf":
		return p.fitsOne(a, b[keyword])
	case "oneOf":
		return p.super.disjoint(b[keyword]) && p.fitsOne(a, b[keyword])
	case "allOf":
		return p.fitsAll(a, b)
	}
	return false
}

// Groups returns the groups of which a or b has keywords.
func Groups(a, b map[string]any) (out []*Group) {
	for i := range groups {
		if g := &groups[i]; hasAny(a, g.Keywords) || hasAny(b, g.Keywords) {
			out = append(out, g)
		}
	}
	return out
}

// Constrains reports whether a keyword constrains values, or modifies a keyword that does.
func Constrains(keyword string) bool {
	return keyword == "const" || slices.ContainsFunc(groups, func(g Group) bool { return slices.Contains(g.Keywords, keyword) })
}

func constrains(s map[string]any) bool {
	for key := range s {
		if Constrains(key) {
			return true
		}
	}
	return false
}

// Fits reports whether it is proved that the values that the normal schema a accepts are valid by a
// group of the normal schema b. level is that of Within.
func (p *Pair) Fits(g *Group, a, b map[string]any, level int) bool {
	p.level = level
	if p.sub.opaque || p.super.opaque {
		return false
	}
	alternatives := slices.Contains(g.Keywords, "anyOf") || slices.Contains(g.Keywords, "oneOf")
	return p.fitsGroup(g, a, b) || alternatives && p.normals(a, b)
}

// Same reports whether two schemas are written equally, except for annotations.
func (p *Pair) Same(a, b any) bool { return p.sameSchema(a, b, map[pairKey]bool{}) }

func (p *Pair) fitsGroup(g *Group, a, b map[string]any) bool {
	// The members that the older schema declares must stay declared.
	declares := p.mode == Input && slices.Contains(g.Keywords, "properties") && hasAny(a, g.Keywords)
	if !hasAny(b, g.Keywords) && !declares || g.of != 0 && g.of&typesOf(a) == 0 {
		return true
	}
	if strings.HasPrefix(g.Keywords[0], "unevaluated") {
		return p.equal(a, b) // These keywords depend on all others.
	}
	return p.identical(g, a, b) || p.fits(g, a, b)
}

// identical reports whether a group is written equally in two normal schemas, except for
// annotations.
func (p *Pair) identical(g *Group, a, b map[string]any) bool {
	for _, key := range g.Keywords {
		x, inA := a[key]
		y, inB := b[key]
		if inA != inB || inA && !p.sameKeyword(key, x, y, map[pairKey]bool{}) {
			return false
		}
	}
	return true
}

// equal reports whether normal schemas are written equally, except for annotations.
func (p *Pair) equal(a, b map[string]any) bool {
	for i := range groups {
		if !p.identical(&groups[i], a, b) {
			return false
		}
	}
	return true
}

// sameSchema reports whether two schemas and the targets of their references are written equally,
// except for annotations.
func (p *Pair) sameSchema(a, b any, met map[pairKey]bool) bool {
	x, isA := a.(map[string]any)
	y, isB := b.(map[string]any)
	if !isA || !isB {
		return reflect.DeepEqual(a, b)
	}
	key := pairKey{reflect.ValueOf(x).Pointer(), reflect.ValueOf(y).Pointer()}
	if p.steps++; met[key] || p.steps > maxSteps {
		return met[key]
	}
	met[key] = true
	for _, keyword := range slices.Concat(slices.Collect(maps.Keys(x)), slices.Collect(maps.Keys(y))) {
		old, had := x[keyword]
		now, has := y[keyword]
		if Constrains(keyword) && (had != has || !p.sameKeyword(keyword, old, now, met)) {
			return false
		}
	}
	return true
}

// sameKeyword reports whether two values of a keyword are equal, compared by the type of the
// keyword's values.
func (p *Pair) sameKeyword(keyword string, a, b any, met map[pairKey]bool) bool {
	switch keyword {
	case "$ref":
		ref, isText := a.(string)
		if !isText || a != b {
			return false
		}
		old, found := p.sub.target(ref)
		now, too := p.super.target(ref)
		if !found || !too {
			// The target is not in this document. It is the same one if the documents are equal, or if
			// the reference leads to another document and no $id changes its base.
			return reflect.DeepEqual(p.sub.Root, p.super.Root) || !strings.HasPrefix(ref, "#") && !p.sub.based && !p.super.based
		}
		return p.sameSchema(old, now, met)
	case "$dynamicRef", "$recursiveRef", malformed:
		return reflect.DeepEqual(a, b) && reflect.DeepEqual(p.sub.Root, p.super.Root)
	case "items", "additionalItems", "contains", "not", "if", "then", "else", "propertyNames", "additionalProperties", "contentSchema", "unevaluatedProperties", "unevaluatedItems":
		if _, isList := a.([]any); !isList {
			return p.sameSchema(a, b, met)
		}
		fallthrough
	case "allOf", "anyOf", "oneOf", "prefixItems":
		x, isA := a.([]any)
		y, isB := b.([]any)
		return isA && isB && slices.EqualFunc(x, y, func(one, other any) bool { return p.sameSchema(one, other, met) })
	case "properties", "patternProperties", "dependentSchemas":
		x, isA := a.(map[string]any)
		y, isB := b.(map[string]any)
		return isA && isB && maps.EqualFunc(x, y, func(one, other any) bool { return p.sameSchema(one, other, met) })
	}
	return Same(a, b)
}

// orTrue returns the schema, or true, which accepts everything, if it is nil.
func orTrue(schema any) any {
	if schema == nil {
		return true
	}
	return schema
}
