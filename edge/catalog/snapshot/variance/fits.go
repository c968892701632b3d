package variance

import (
	"math/big"
	"strings"
)

func fitsEnum(a, b map[string]any) bool {
	allowed, isList := b["enum"].([]any)
	values, finite := a["enum"].([]any)
	if !finite {
		switch typesOf(a) {
		case isBool:
			values = []any{true, false}
		case isNull:
			values = []any{nil}
		default:
			return false
		}
	}
	return isList && allIn(values, allowed)
}

func isLower(keyword string) bool {
	return strings.HasPrefix(keyword, "min") || keyword == "exclusiveMinimum"
}

// bound is a lower or upper bound of numbers.
type bound struct {
	at   *big.Rat // nil means no bound
	open bool     // excludes at itself
}

// boundOf returns the tighter bound of the keywords closed and open. sign is 1 for lower bounds. It
// is -1 for upper bounds, which are negated so that they compare as lower ones. ok is false if a
// keyword is not a number.
func boundOf(s map[string]any, closed, open string, sign int64) (b bound, ok bool) {
	for _, keyword := range []string{closed, open} {
		value, has := s[keyword]
		if !has {
			continue
		}
		at := rational(value)
		if at == nil {
			return b, false
		}
		at = new(big.Rat).Mul(at, big.NewRat(sign, 1))
		if b.at == nil || at.Cmp(b.at) > 0 || at.Cmp(b.at) == 0 && keyword == open {
			b = bound{at, keyword == open}
		}
	}
	return b, true
}

// integral returns the equivalent inclusive bound for integers.
func (b bound) integral() bound {
	if b.at == nil {
		return b
	}
	n := new(big.Int).Div(b.at.Num(), b.at.Denom()) // rounds down
	if b.open || !b.at.IsInt() {
		n.Add(n, big.NewInt(1))
	}
	return bound{at: new(big.Rat).SetInt(n)}
}

func fitsBound(a, b map[string]any, closed, open string, sign int64) bool {
	x, okA := boundOf(a, closed, open, sign)
	y, okB := boundOf(b, closed, open, sign)
	if !okB {
		return false
	}
	if !okA {
		x = bound{}
	}
	if typesOf(a)&isFraction == 0 {
		x, y = x.integral(), y.integral()
	}
	if y.at == nil || x.at == nil {
		return y.at == nil
	}
	order := x.at.Cmp(y.at)
	return order > 0 || order == 0 && (x.open || !y.open)
}

func fitsMultiple(a, b map[string]any) bool {
	y := rational(b["multipleOf"])
	if y == nil || y.Sign() <= 0 {
		return false
	}
	x := rational(a["multipleOf"])
	if x == nil && typesOf(a)&isFraction == 0 {
		x = big.NewRat(1, 1)
	}
	return x != nil && new(big.Rat).Quo(x, y).IsInt()
}

// atLeast compares the values of a keyword for the minimum size, whose default is 0.
func atLeast(a, b any) bool {
	x, y := rational(a), rational(b)
	if x == nil {
		x = new(big.Rat)
	}
	return y != nil && x.Cmp(y) >= 0
}

func atMost(a, b any) bool {
	x, y := rational(a), rational(b)
	return x != nil && y != nil && x.Cmp(y) <= 0
}

func fitsDependent(a, b map[string]any) bool {
	mine, _ := a["dependentRequired"].(map[string]any)
	theirs, isMap := b["dependentRequired"].(map[string]any)
	for name, needs := range theirs {
		if !allIn(listOf(needs), union(listOf(mine[name]), listOf(a["required"]))) {
			return false
		}
	}
	return isMap
}

// fitsMembers compares the keywords about the members of objects.
func (p *Pair) fitsMembers(a, b map[string]any) bool {
	old, okA := mapOf(a, "properties")
	now, okB := mapOf(b, "properties")
	patterns, okP := mapOf(a, "patternProperties")
	if _, okQ := mapOf(b, "patternProperties"); !okA || !okB || !okP || !okQ {
		return false
	}
	if _, has := b["patternProperties"]; has && !p.sameKeyword("patternProperties", a["patternProperties"], b["patternProperties"], map[pairKey]bool{}) {
		return false
	} else if !has {
		for _, schema := range patterns { // In b, a name that matches a pattern of a is an additional one.
			if !p.childWithin(schema, orTrue(b["additionalProperties"])) {
				return false
			}
		}
	}
	for name, schema := range old {
		other, kept := now[name]
		switch {
		case kept && p.childWithin(schema, other):
		case !kept && (p.mode != Input || isNever(p.sub.Normal(schema))) && p.childWithin(schema, orTrue(b["additionalProperties"])):
		default:
			return false
		}
	}
	for name, schema := range now {
		if _, had := old[name]; had {
			continue
		}
		switch {
		case p.mode == Output && !isNever(p.super.Normal(schema)):
			return false // a does not declare a member that b declares.
		case p.mode == Input && p.undeclared(a):
		case len(patterns) > 0 && constrains(p.super.Normal(schema)):
			return false
		case !p.childWithin(orTrue(a["additionalProperties"]), schema):
			return false
		}
	}
	return p.childWithin(orTrue(a["additionalProperties"]), orTrue(b["additionalProperties"]))
}

// undeclared reports whether callers are assumed to send no members that the schema a does not
// declare.
func (p *Pair) undeclared(a map[string]any) bool {
	properties, _ := mapOf(a, "properties")
	return !hasAny(a, []string{"additionalProperties", "patternProperties"}) && (len(properties) > 0 || p.level == 0)
}

// mapOf returns the value of a keyword that maps names to schemas. ok is false if the value is not
// a map.
func mapOf(s map[string]any, keyword string) (out map[string]any, ok bool) {
	value, has := s[keyword]
	out, ok = value.(map[string]any)
	return out, ok || !has
}

// fitsElements compares the schemas of the elements of arrays.
func (p *Pair) fitsElements(a, b map[string]any) bool {
	if _, isList := a["items"].([]any); isList {
		return false
	}
	if _, isList := b["items"].([]any); isList || hasAny(b, []string{"additionalItems"}) {
		return false
	}
	x, y := listOf(a["prefixItems"]), listOf(b["prefixItems"])
	at := func(prefix []any, s map[string]any, i int) any {
		if i < len(prefix) {
			return prefix[i]
		}
		return orTrue(s["items"])
	}
	n := max(len(x), len(y))
	if most := rational(a["maxItems"]); most != nil && most.Cmp(big.NewRat(int64(n), 1)) <= 0 {
		n = int(new(big.Int).Div(most.Num(), most.Denom()).Int64()) - 1 // An array has no elements beyond these.
	}
	for i := range n + 1 {
		if !p.childWithin(at(x, a, i), at(y, b, i)) {
			return false
		}
	}
	return true
}

// fitsNot reports whether b excludes no value that a accepts, by their keywords not. Schemas with
// references are not compared.
func fitsNot(a, b map[string]any) bool {
	excluded, has := a["not"]
	if !has || hasReference(excluded) || hasReference(b["not"]) {
		return false
	}
	return NewPair(New(b["not"]), New(excluded), Plain).Within(b["not"], excluded, 0)
}

func hasReference(schema any) (found bool) {
	walkMaps(schema, func(m map[string]any) { found = found || hasAny(m, []string{"$ref", "$dynamicRef", "$recursiveRef"}) })
	return found
}

// fitsOne reports whether a is within one of several schemas of b.
func (p *Pair) fitsOne(a map[string]any, branches any) bool {
	list, _ := branches.([]any)
	for _, branch := range list {
		if p.normals(a, p.super.Normal(branch)) {
			return true
		}
	}
	return false
}

// fitsAll reports whether a is within each schema of b's allOf.
func (p *Pair) fitsAll(a, b map[string]any) bool {
	list, isList := b["allOf"].([]any)
	for _, part := range list {
		if !p.normals(a, p.super.Normal(part)) {
			return false
		}
	}
	return isList
}

// disjoint reports whether it is proved that no value is valid by two of several schemas: their
// types differ, or a required member has different values.
func (d *Doc) disjoint(branches any) bool {
	list, isList := branches.([]any)
	for i, one := range list {
		for _, other := range list[i+1:] {
			if !d.exclusive(d.Normal(one), d.Normal(other)) {
				return false
			}
		}
	}
	return isList
}

func (d *Doc) exclusive(a, b map[string]any) bool {
	if typesOf(a)&typesOf(b) == 0 || disjointEnums(a, b) {
		return true
	}
	if (typesOf(a)|typesOf(b))&^isObject != 0 {
		return false
	}
	x, _ := mapOf(a, "properties")
	y, _ := mapOf(b, "properties")
	for name, schema := range x {
		if other, both := y[name]; both && contains(listOf(a["required"]), name) && contains(listOf(b["required"]), name) && disjointEnums(d.Normal(schema), d.Normal(other)) {
			return true
		}
	}
	return false
}

// disjointEnums reports whether two enumerations have no value in common.
func disjointEnums(a, b map[string]any) bool {
	x, finite := a["enum"].([]any)
	y, too := b["enum"].([]any)
	return finite && too && len(common(x, y)) == 0
}
