package schema

import (
	"encoding/json"
	"strings"
)

// The cost of a check is counted in points. A point stands for at most one byte of memory that the
// check holds at its end, and for about a nanosecond.
const (
	// MaxCost bounds one check, in points: at most 64 MB of memory, and some tenths of a second.
	MaxCost = 64 << 20

	// visitPoints is the cost of one subschema applied to one value, with one violation.
	// faultPoints is the cost of each further violation of the value, locationPoints what each
	// level of nesting adds to a violation.
	visitPoints    = 192
	faultPoints    = 192
	locationPoints = 16
	// namePoints is the cost of a name that is looked up in an object, or kept in a violation (the
	// name of a type included). setPoints is the cost of a member of the set of unevaluated
	// members.
	namePoints = 32
	setPoints  = 96
	// numberPoints is the cost of a number parsed for computing, equalPoints of a comparison of two
	// values, uniquePoints of an item compared with the others.
	numberPoints = 256
	equalPoints  = 32
	uniquePoints = 128

	// maxNesting bounds the schemas that are being applied within each other, over all levels of
	// the value. Each takes some KB of stack.
	maxNesting = 4096
	// regexPoints is the cost of a byte of a string that is parsed for the format "regex".
	regexPoints = 256
)

// meter counts the cost of a check by walking a value as the validator does. Where it cannot know
// the outcome, such as which alternative matches, it assumes the more expensive one. Its own work
// is a fraction of the check's, because each step counts at least visitPoints.
type meter struct {
	left int64
	// open are the schemas being applied, outermost first; those from base on apply to the same
	// value. scope is where the search for dynamic anchors begins.
	open        []*node
	base, scope int
	// depth is the nesting depth of the value.
	depth int64
}

// cost returns the points that checking v takes, at most MaxCost+1.
func cost(root *node, v any) int64 {
	var open [8]*node // more are rare
	m := meter{left: MaxCost, open: open[:0]}
	m.visit(root, v, false)
	if m.left < 0 {
		return MaxCost + 1
	}
	return MaxCost - m.left
}

// take adds points to the cost and reports whether the bound is not exceeded.
func (m *meter) take(points int64) bool {
	if points > m.left || points < 0 {
		m.left = -1
	} else {
		m.left -= points
	}
	return m.left >= 0
}

// visit counts a schema applied to a value. tracked is true if an enclosing schema needs to know
// what is evaluated.
func (m *meter) visit(n *node, v any, tracked bool) {
	if len(m.open) >= maxNesting {
		m.left = -1
	}
	if !m.take(visitPoints + locationPoints*m.depth + 2*int64(len(m.open)-m.base)) {
		return
	}
	tracked = tracked || n.unevaluated != nil || n.unevaluatedItem != nil
	if tracked && !m.take(setPoints*int64(length(v))) {
		return
	}
	if n.constant {
		return
	}
	if n.types != 0 && n.types&typeOf(v) == 0 {
		m.take(namePoints * n.typeNames)
		return
	}
	for _, o := range m.open[m.base:] {
		if o == n {
			return // the validator ends a cycle
		}
	}
	m.open = append(m.open, n)
	m.apply(n, v, tracked)
	m.open = m.open[:len(m.open)-1]
}

func (m *meter) apply(n *node, v any, tracked bool) {
	if n.ref != nil {
		m.visit(n.ref, v, tracked)
		if n.refOnly {
			return
		}
	}
	faults := n.faults[anyValue]
	switch v := v.(type) {
	case map[string]any:
		faults += n.faults[objects]
		m.take(n.equalDeep)
		m.object(n, v, tracked)
	case []any:
		faults += n.faults[arrays]
		m.take(n.equalDeep)
		m.array(n, v)
	case string:
		faults += n.faults[strs]
		m.text(n, v)
	case json.Number:
		faults += n.faults[numbers]
		m.take(n.numeric * numberWeight(v))
	}
	if !m.take(max(0, faults-1) * (faultPoints + locationPoints*m.depth)) {
		return
	}
	for _, x := range n.same {
		if m.visit(x, v, tracked); m.left < 0 {
			return
		}
	}
	if n.recursive != nil {
		m.visit(m.recursiveTarget(n.recursive), v, tracked)
	}
	if n.dynamic != nil {
		m.visit(m.dynamicTarget(n.dynamic), v, tracked)
	}
}

// child counts a schema applied to a child of the value.
func (m *meter) child(n *node, v any) {
	base := m.base
	m.base = len(m.open)
	m.depth++
	m.visit(n, v, false)
	m.depth--
	m.base = base
}

func (m *meter) object(n *node, obj map[string]any, tracked bool) {
	if !m.take(namePoints * (n.lists + int64(len(obj)))) {
		return
	}
	for name, x := range n.dependents {
		if _, ok := obj[name]; ok {
			m.visit(x, obj, tracked)
		}
	}
	if n.properties == nil && n.patterns == nil && n.additional == nil && n.names == nil && n.unevaluated == nil {
		return
	}
	for name, v := range obj {
		if m.property(n, name, v); m.left < 0 {
			return
		}
	}
}

func (m *meter) property(n *node, name string, v any) {
	evaluated := false
	if x := n.properties[name]; x != nil {
		evaluated = true
		m.child(x, v)
	}
	for _, p := range n.patterns {
		if !m.take(namePoints + p.re.size*int64(len(name))) {
			return
		}
		if p.re.MatchString(name) {
			evaluated = true
			m.child(p.node, v)
		}
	}
	switch {
	case evaluated:
	case n.additional != nil:
		m.child(n.additional, v)
	case n.unevaluated != nil && !n.closed:
		m.child(n.unevaluated, v)
	}
	if n.names != nil { // checked as a separate document
		base, scope := m.base, m.scope
		m.base, m.scope = len(m.open), len(m.open)
		m.visit(n.names, name, false)
		m.base, m.scope = base, scope
	}
}

func (m *meter) array(n *node, arr []any) {
	if n.unique {
		m.uniqueItems(arr)
	}
	if n.contains != nil {
		m.take(namePoints * int64(len(arr)))
	}
	for i, v := range arr {
		if m.left < 0 {
			return
		}
		switch {
		case i < len(n.prefix):
			m.child(n.prefix[i], v)
		case n.items != nil:
			m.child(n.items, v)
		case n.unevaluatedItem != nil:
			m.child(n.unevaluatedItem, v)
		}
		if n.contains != nil {
			m.child(n.contains, v)
		}
	}
}

// uniqueItems counts the comparison of items. Up to 20 items are compared with each other, more by
// a hash. Nested values can be made to share a hash, so the cost of these is quadratic.
func (m *meter) uniqueItems(arr []any) {
	nested, size := int64(0), int64(0)
	for _, v := range arr {
		if t := typeOf(v); t == typeArray || t == typeObject {
			nested++
		}
		n := m.weigh(v)
		if size += n; !m.take(uniquePoints) {
			return
		}
	}
	if len(arr) <= 20 {
		m.take(size * int64(len(arr)) * equalPoints)
	} else {
		m.take(2 * size * nested)
	}
}

// weigh counts the hashing of a value and returns the number of values in it.
func (m *meter) weigh(v any) (values int64) {
	if m.left < 0 {
		return 0
	}
	values = 1
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			m.take(int64(len(name)))
			values += m.weigh(x)
		}
	case []any:
		for _, x := range v {
			values += m.weigh(x)
		}
	case string:
		m.take(int64(len(v)) / 4)
	case json.Number:
		m.take(numberWeight(v) * (1 + int64(len(v))/4))
	}
	m.take(2 * equalPoints)
	return values
}

// text counts the cost of a string: the validator copies it at every visit.
func (m *meter) text(n *node, s string) {
	size := int64(len(s))
	m.take(size/4 + n.equalStrings*equalPoints/2 + n.pattern*(size+1))
	if n.lengths {
		m.take(size / 2)
	}
	if n.regex {
		m.take(regexPoints * size)
	}
}

// numberWeight returns the points for computing with a number. They grow with its digits and its
// exponent.
func numberWeight(v json.Number) int64 {
	weight := numberPoints * (1 + int64(len(v))/16)
	if strings.ContainsAny(string(v), "eE") {
		weight += 8 * numberPoints
	}
	return weight
}

// dynamicTarget returns the target of a $dynamicRef: the anchor of the outermost resource that has
// it.
func (m *meter) dynamicTarget(d *dynamicRef) *node {
	if d.anchor == "" || d.target.dynamicAnchor != d.anchor {
		return d.target
	}
	m.take(namePoints * int64(len(m.open)))
	for _, o := range m.open[m.scope:] {
		if n := o.scope.anchors[d.anchor]; n != nil {
			return n
		}
	}
	return d.target
}

// recursiveTarget returns the target of a $recursiveRef.
func (m *meter) recursiveTarget(n *node) *node {
	if !n.recursiveAnchor {
		return n
	}
	m.take(namePoints * int64(len(m.open)))
	for _, o := range m.open[m.scope:] {
		if o.scope.recursive {
			return o
		}
	}
	return n
}

func typeOf(v any) uint8 {
	switch v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBool
	case json.Number:
		return typeNumber
	case string:
		return typeString
	case []any:
		return typeArray
	}
	return typeObject
}

// length returns the number of children of a value.
func length(v any) int {
	switch v := v.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	return 0
}
