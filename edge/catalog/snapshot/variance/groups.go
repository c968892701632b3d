package variance

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Group is keywords whose meaning depends on each other. A schema accepts what all of its groups
// accept.
type Group struct {
	// Keywords are those of the group.
	Keywords []string
	// of are the types of values that the group constrains; 0 means all.
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

// fits reports whether what a accepts fits the keywords of a group in b, which has some of them and
// does not say the same as a. Groups that are not here are compared as they are written.
func (p *Pair) fits(g *Group, a, b map[string]any) bool {
	switch keyword := g.Keywords[0]; keyword {
	case "type":
		return typesOf(a)&^named(b["type"]) == 0
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
		return p.below(orTrue(a[keyword]), b[keyword])
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

// Groups returns the groups that a or b has keywords of.
func Groups(a, b map[string]any) (out []*Group) {
	for i := range groups {
		if g := &groups[i]; hasAny(a, g.Keywords) || hasAny(b, g.Keywords) {
			out = append(out, g)
		}
	}
	return out
}

// Constrains reports whether a keyword constrains values, or has to do with such keywords.
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

// Fits reports whether it is proved that what the normal schema a accepts fits the keywords of a group
// in b, of values at a level as Within has it.
func (p *Pair) Fits(g *Group, a, b map[string]any, level int) bool {
	p.level = level
	if p.sub.opaque || p.super.opaque {
		return false
	}
	alternatives := slices.Contains(g.Keywords, "anyOf") || slices.Contains(g.Keywords, "oneOf")
	return p.fitsGroup(g, a, b) || alternatives && p.normals(a, b)
}

// Same reports whether two schemas are written in the same way, except for annotations.
func (p *Pair) Same(a, b any) bool { return p.sameSchema(a, b, map[pairKey]bool{}) }

func (p *Pair) fitsGroup(g *Group, a, b map[string]any) bool {
	// The members that an older schema declares must stay declared.
	declares := p.mode == Input && slices.Contains(g.Keywords, "properties") && hasAny(a, g.Keywords)
	if !hasAny(b, g.Keywords) && !declares || g.of != 0 && g.of&typesOf(a) == 0 {
		return true
	}
	if strings.HasPrefix(g.Keywords[0], "unevaluated") {
		return p.equal(a, b) // They depend on all others.
	}
	return p.identical(g, a, b) || p.fits(g, a, b)
}

// identical reports whether a group says the same in two normal schemas, except in annotations.
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

// equal reports whether normal schemas say the same, except in annotations.
func (p *Pair) equal(a, b map[string]any) bool {
	for i := range groups {
		if !p.identical(&groups[i], a, b) {
			return false
		}
	}
	return true
}

// sameSchema reports whether schemas are written in the same way, except for annotations, and so are
// the targets of their references.
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

// sameKeyword compares the values of a keyword by what they are.
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
			// It leads elsewhere, which is the same place if the documents are the same.
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

// orTrue returns a schema, or that which accepts everything if it is absent.
func orTrue(schema any) any {
	if schema == nil {
		return true
	}
	return schema
}
