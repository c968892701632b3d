package schema

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

const (
	// ordinaryValues is the number of values in 64 KiB of ordinary arguments: one for every eight
	// bytes.
	ordinaryValues = 64 << 10 / 8
	// maxVisits is the number of schemas that may be applied to values within MaxCost.
	maxVisits = MaxValues
	// maxSearch bounds the search for the most visited values, maxCandidates the candidates at each level.
	maxSearch     = 1 << 21
	maxCandidates = 16
)

// multiplies reports whether a check of ordinaryValues can exceed MaxCost. It follows names and
// indexes from the root down, always those whose values have the most schemas applied. A wrong
// false only makes the error less clear: the cost of a check is computed for each value anyway.
func multiplies(root *node) bool {
	s := &search{left: maxSearch, memo: map[entryType]*entry{}}
	return s.run(root)
}

func (s *search) run(root *node) bool {
	level := []place{{applied: map[*node]int64{root: 1}, wide: 1}}
	for depth := 0; depth < jsonrpc.MaxDepth && len(level) > 0 && s.left > 0; depth++ {
		var next []place
		for _, p := range level {
			for _, t := range []uint8{typeObject, typeArray, typeString, typeNumber} {
				reached, visits := s.visits(&p, t)
				if s.over || p.before+visits*p.wide > maxVisits {
					return true
				}
				if s.left < 0 {
					return false
				}
				switch t {
				case typeObject:
					next = append(next, s.properties(&p, reached, visits)...)
				case typeArray:
					next = append(next, s.items(&p, reached, visits)...)
				}
			}
		}
		slices.SortStableFunc(next, func(a, b place) int {
			return cmp.Or(cmp.Compare(b.most, a.most), cmp.Compare(a.label, b.label))
		})
		level = next[:min(len(next), maxCandidates)]
	}
	return false
}

// place is a position of values.
type place struct {
	// applied counts how often the parent's schemas apply each schema to it. most is the sum.
	applied map[*node]int64
	most    int64
	// before is the number of visits on the path to it. wide is the possible number of values.
	before, wide int64
	// label distinguishes places of one level.
	label string
}

type entryType struct {
	node *node
	of   uint8
}

// entry is a schema and all schemas that it applies to the same value.
type entry struct {
	// reached counts the schemas that inspect a value of the type; visits counts all.
	reached map[*node]int64
	visits  int64
}

type search struct {
	left int64
	// over is true if a single value is visited more than maxVisits times.
	over bool
	memo map[entryType]*entry
	open []*node
}

// visits adds up the schemas that are applied to a value of a type.
func (s *search) visits(p *place, t uint8) (reached map[*node]int64, visits int64) {
	reached = make(map[*node]int64)
	for n, times := range p.applied {
		e := s.entry(n, t)
		visits += times * e.visits
		for m, k := range e.reached {
			s.left--
			reached[m] += times * k
		}
		if visits > maxVisits {
			s.over = true
		}
		if s.over || s.left < 0 {
			break
		}
	}
	return reached, visits
}

func (s *search) entry(n *node, t uint8) *entry {
	e := s.memo[entryType{n, t}]
	if e == nil {
		e = &entry{reached: make(map[*node]int64)}
		s.memo[entryType{n, t}] = e
		s.enter(e, n, t)
	}
	return e
}

// enter counts a schema as meter.visit does.
func (s *search) enter(e *entry, n *node, t uint8) {
	s.left -= 1 + int64(len(s.open))/32
	if e.visits++; e.visits > maxVisits || len(s.open) >= maxNesting {
		s.over = true
	}
	if s.over || s.left < 0 || n.constant || n.types != 0 && n.types&t == 0 || slices.Contains(s.open, n) {
		return
	}
	e.reached[n]++
	s.open = append(s.open, n)
	defer func() { s.open = s.open[:len(s.open)-1] }()
	if n.ref != nil {
		s.enter(e, n.ref, t)
		if n.refOnly {
			return
		}
	}
	for _, x := range n.same {
		s.enter(e, x, t)
	}
	if n.recursive != nil {
		s.enter(e, n.recursive, t)
	}
	if n.dynamic != nil {
		s.enter(e, n.dynamic.target, t)
	}
	if t == typeObject {
		for _, x := range n.dependents {
			s.enter(e, x, t)
		}
	}
}

// properties returns the places below an object: one for each name in some schema, and one for a
// name in none.
func (s *search) properties(p *place, reached map[*node]int64, visits int64) []place {
	names := map[string]bool{}
	for n := range reached {
		for name := range n.properties {
			names[name] = true
		}
	}
	out := []place{s.child(p, visits, "*", ordinaryValues, reached, (*node).undeclaredSchemas)}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if s.left < 0 {
			break
		}
		out = append(out, s.child(p, visits, name, p.wide, reached, func(n *node) []*node { return n.named(name) }))
	}
	return slices.DeleteFunc(out, func(p place) bool { return p.most == 0 })
}

// items returns the places below an array: one for each index of a prefix, and one for the items
// after it.
func (s *search) items(p *place, reached map[*node]int64, visits int64) []place {
	longest := 0
	for n := range reached {
		longest = max(longest, len(n.prefix))
	}
	var out []place
	for i := range longest + 1 {
		if s.left < 0 {
			break
		}
		wide, label := p.wide, "[]"
		if i == longest {
			wide, label = ordinaryValues, "[…]"
		}
		out = append(out, s.child(p, visits, label, wide, reached, func(n *node) []*node { return n.at(i) }))
	}
	return slices.DeleteFunc(out, func(p place) bool { return p.most == 0 })
}

// child returns the place of a child. children returns the schemas that one schema applies to it.
func (s *search) child(p *place, visits int64, label string, wide int64, reached map[*node]int64, children func(*node) []*node) place {
	c := place{applied: make(map[*node]int64), before: p.before + visits, wide: max(p.wide, wide), label: label}
	for n, times := range reached {
		for _, x := range children(n) {
			s.left--
			c.applied[x] += times
			c.most += times
		}
		s.left -= 1 + int64(len(n.patterns))
	}
	return c
}

// named returns the schemas for a property.
func (n *node) named(name string) (out []*node) {
	if x := n.properties[name]; x != nil {
		out = append(out, x)
	}
	for _, p := range n.patterns {
		if p.re.MatchString(name) {
			out = append(out, p.node)
		}
	}
	if len(out) == 0 {
		out = n.others(out)
	}
	return out
}

// undeclaredSchemas returns the schemas for a name that is not a property. It assumes that all patterns
// match the same names.
func (n *node) undeclaredSchemas() (out []*node) {
	for _, p := range n.patterns {
		out = append(out, p.node)
	}
	if len(out) == 0 {
		out = n.others(out)
	}
	return out
}

func (n *node) others(out []*node) []*node {
	switch {
	case n.additional != nil:
		return append(out, n.additional)
	case n.unevaluated != nil && !n.closed:
		return append(out, n.unevaluated)
	}
	return out
}

// at returns the schemas for an index.
func (n *node) at(i int) (out []*node) {
	switch {
	case i < len(n.prefix):
		out = append(out, n.prefix[i])
	case n.items != nil:
		out = append(out, n.items)
	case n.unevaluatedItem != nil:
		out = append(out, n.unevaluatedItem)
	}
	if n.contains != nil {
		out = append(out, n.contains)
	}
	return out
}
