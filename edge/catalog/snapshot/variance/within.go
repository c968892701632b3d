package variance

import "reflect"

// Pair compares schemas of the document sub with schemas of the document super. It proves that the
// values that the former accept are valid by the latter. It is not safe for concurrent use.
type Pair struct {
	sub, super *Doc
	mode       Mode
	// known has the results for pairs of schemas. While a pair is being compared, it is assumed to
	// hold, because recursive schemas lead to the same pair again. trail lists the pairs whose
	// results may depend on such an assumption, in the order of their comparison.
	known map[pairKey]*result
	trail []pairKey
	// kept holds the schemas of known, so that their addresses are not reused.
	kept []map[string]any
	// level is the depth of the compared values: the number of members and elements above them.
	level, depth, steps int
}

type pairKey struct{ sub, super uintptr }

type result struct {
	open, holds bool
	level       int
}

const (
	// maxSteps bounds the number of compared pairs, maxDepth their nesting, and maxSplit the values
	// of an enumeration that are compared one by one. Beyond a bound nothing is proved.
	maxSteps = 50_000
	maxDepth = 300
	maxSplit = 100
)

// NewPair returns a Pair for the schemas of two documents.
func NewPair(sub, super *Doc, mode Mode) *Pair {
	return &Pair{sub: sub, super: super, mode: mode, known: map[pairKey]*result{}}
}

// Within reports whether it is proved that the schema b of super accepts every value that the
// schema a of sub accepts. level is the depth of the values: the number of members and elements
// above them. 0 is the root.
func (p *Pair) Within(a, b any, level int) bool {
	p.level = level
	return p.within(a, b)
}

func (p *Pair) within(a, b any) bool {
	if p.sub.opaque || p.super.opaque {
		return reflect.DeepEqual(p.sub.Root, p.super.Root) && reflect.DeepEqual(a, b)
	}
	m, isA := a.(map[string]any)
	n, isB := b.(map[string]any)
	if !isA || !isB {
		return p.normals(p.sub.Normal(a), p.super.Normal(b))
	}
	key := pairKey{reflect.ValueOf(m).Pointer(), reflect.ValueOf(n).Pointer()}
	if r := p.known[key]; r != nil {
		return r.holds && (!r.open || r.level < p.level)
	}
	r, mark := &result{open: true, holds: true, level: p.level}, len(p.trail)
	p.known[key], p.kept = r, append(p.kept, m, n)
	r.holds = p.normals(p.sub.Normal(a), p.super.Normal(b))
	if !r.holds {
		for _, made := range p.trail[mark:] {
			delete(p.known, made)
		}
		p.trail = p.trail[:mark]
	} else {
		p.trail = append(p.trail, key)
	}
	r.open = false
	return r.holds
}

// childWithin implements within for the members and elements of the compared values.
func (p *Pair) childWithin(a, b any) bool {
	p.level++
	defer func() { p.level-- }()
	return p.within(a, b)
}

// normals compares normal schemas.
func (p *Pair) normals(a, b map[string]any) bool {
	p.steps++
	p.depth++
	defer func() { p.depth-- }()
	switch {
	case p.steps > maxSteps, p.depth > maxDepth:
		return false
	case isNever(a), typesOf(a) == 0:
		return true
	case isNever(b):
		return false
	}
	return p.all(a, b) || p.alternativesWithin(a, b)
}

// all reports whether it is proved that the values of a are valid by each group of b.
func (p *Pair) all(a, b map[string]any) bool {
	for i := range groups {
		if !p.fitsGroup(&groups[i], a, b) {
			return false
		}
	}
	return true
}

// alternativesWithin compares the alternatives of a one by one with b.
func (p *Pair) alternativesWithin(a, b map[string]any) bool {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches, ok := a[keyword].([]any); ok && p.each(a, keyword, branches, b) {
			return true
		}
	}
	for _, part := range listOf(a["allOf"]) {
		if p.normals(p.sub.Normal(part), b) {
			return true
		}
	}
	if !hasAny(b, []string{"anyOf", "oneOf"}) {
		return false
	}
	if values := listOf(a["enum"]); len(values) > 1 && len(values) <= maxSplit {
		var one []any
		for _, v := range values {
			one = append(one, map[string]any{"enum": []any{v}})
		}
		return p.each(a, "enum", one, b)
	}
	if names := typeList(a); len(names) > 1 {
		var one []any
		for _, name := range names {
			one = append(one, map[string]any{"type": name})
		}
		return p.each(a, "type", one, b)
	}
	return false
}

// typeList returns the names of the types of a schema. Each is compared separately.
func typeList(s map[string]any) []any {
	if s["type"] == nil {
		return []any{"null", "boolean", "string", "object", "array", "number"}
	}
	return listOf(s["type"])
}

// each reports whether each branch, which replaces a keyword of a, is within b.
func (p *Pair) each(a map[string]any, keyword string, branches []any, b map[string]any) bool {
	rest := map[string]any{}
	for key, value := range a {
		if key != keyword {
			rest[key] = value
		}
	}
	for _, branch := range branches {
		if !p.normals(merge(p.sub.Normal(branch), rest), b) {
			return false
		}
	}
	return len(branches) > 0
}
