package schema

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// node is one subschema for the computation of cost: the other subschemas that the validator
// applies to the same value and to its children, and its other work. Nodes are immutable once the
// graph is built.
type node struct {
	// constant is true if the schema is true or false and inspects nothing.
	constant bool
	// types are the accepted types, by typeBit. 0 accepts all. Values of other types are not
	// inspected further.
	types uint8
	// typeNames is the number of types after the first.
	typeNames int64
	// refOnly is true if keywords beside $ref are ignored, as before draft 2019-09.
	refOnly bool
	// faults is the number of violations that one value can have, by the value's type: for all
	// types, objects, arrays, strings and numbers.
	faults [5]int64

	// These are applied to the same value.
	same       []*node
	ref        *node
	dynamic    *dynamicRef
	recursive  *node // the target of $recursiveRef before it is resolved
	dependents map[string]*node
	// These are applied to the children of an object.
	properties  map[string]*node
	patterns    []patternNode
	additional  *node
	closed      bool // additionalProperties is false
	names       *node
	unevaluated *node
	// These are applied to the children of an array.
	prefix          []*node
	items           *node // for the items after prefix
	contains        *node
	unevaluatedItem *node

	// lists is the total length of all lists of names that an object is compared with.
	lists  int64
	unique bool
	// pattern is the size of the pattern for strings. lengths is true if their characters are
	// counted.
	pattern int64
	lengths bool
	regex   bool // format "regex": a string is compiled
	// numeric is the number of computations for a number. equalStrings and equalDeep are the cost
	// of enum and const: the number of strings in them, and the weight of the arrays and objects.
	numeric, equalStrings, equalDeep int64

	// These resolve $dynamicRef and $recursiveRef. They are set only in a schema that has one.
	scope           *resource
	dynamicAnchor   string
	recursiveAnchor bool
}

type patternNode struct {
	re   *pattern
	node *node
}

// dynamicRef is a $dynamicRef. It leads to target unless anchor resolves to another schema.
type dynamicRef struct {
	target *node
	anchor string
}

// These are the indexes of faults.
const (
	anyValue = iota
	objects
	arrays
	strs
	numbers
)

const (
	typeNull uint8 = 1 << iota
	typeBool
	typeNumber
	typeString
	typeArray
	typeObject
)

var typeBits = map[string]uint8{
	"null": typeNull, "boolean": typeBool, "number": typeNumber, "integer": typeNumber,
	"string": typeString, "array": typeArray, "object": typeObject,
}

// graph builds the nodes of a compiled schema.
type graph struct {
	nodes map[*jsonschema.Schema]*node
	// todo are nodes whose fields are not filled yet.
	todo []*jsonschema.Schema
	// scoped is true if the schema has a $dynamicRef or $recursiveRef.
	scoped bool
}

// newGraph builds the graph of a compiled schema. compile returns another part of the same schema
// by its location.
func newGraph(root *jsonschema.Schema, compile func(location string) (*jsonschema.Schema, error)) (*node, error) {
	g := &graph{nodes: make(map[*jsonschema.Schema]*node)}
	top := g.node(root)
	g.read()
	if g.scoped {
		if err := g.resolve(compile); err != nil {
			return nil, err
		}
	}
	return top, nil
}

// node returns the node of a schema, to be filled later. It returns nil for nil.
func (g *graph) node(s *jsonschema.Schema) *node {
	if s == nil {
		return nil
	}
	n := g.nodes[s]
	if n == nil {
		n = new(node)
		g.nodes[s] = n
		g.todo = append(g.todo, s)
	}
	return n
}

func (g *graph) read() {
	for len(g.todo) > 0 {
		s := g.todo[len(g.todo)-1]
		g.todo = g.todo[:len(g.todo)-1]
		g.fill(g.nodes[s], s)
	}
}

// fill reads a schema's keywords. A test compares them with the fields of the library's Schema.
func (g *graph) fill(n *node, s *jsonschema.Schema) {
	n.constant = s.Bool != nil
	if s.Types != nil {
		for _, name := range s.Types.ToStrings() {
			n.types |= typeBits[name]
			n.numeric += one(name == "integer")
		}
		n.typeNames = int64(len(s.Types.ToStrings()) - 1)
	}
	n.dynamicAnchor, n.recursiveAnchor = s.DynamicAnchor, s.RecursiveAnchor
	n.ref = g.node(s.Ref)
	n.refOnly = s.Ref != nil && s.DraftVersion < 2019
	n.recursive = g.node(s.RecursiveRef)
	if s.DynamicRef != nil {
		n.dynamic = &dynamicRef{g.node(s.DynamicRef.Ref), s.DynamicRef.Anchor}
	}
	g.scoped = g.scoped || n.dynamic != nil || n.recursive != nil
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, {s.Not, s.If, s.Then, s.Else}} {
		for _, x := range list {
			if x != nil {
				n.same = append(n.same, g.node(x))
			}
		}
	}
	n.faults[anyValue] = one(s.Ref != nil) + one(s.RecursiveRef != nil) + one(s.DynamicRef != nil) + one(s.Not != nil) +
		one(len(s.AllOf) > 0) + one(len(s.AnyOf) > 0) + one(len(s.OneOf) > 0) + one(s.Format != nil)
	g.fillObject(n, s)
	g.fillArray(n, s)
	g.fillScalar(n, s)
}

func (g *graph) fillObject(n *node, s *jsonschema.Schema) {
	n.properties = g.named(s.Properties)
	for re, x := range s.PatternProperties {
		p, _ := re.(*pattern) // all are made by patterns.compile
		n.patterns = append(n.patterns, patternNode{p, g.node(x)})
	}
	switch a := s.AdditionalProperties.(type) {
	case *jsonschema.Schema:
		n.additional = g.node(a)
	case bool:
		n.closed = !a
	}
	n.names = g.node(s.PropertyNames)
	n.unevaluated = g.node(s.UnevaluatedProperties)
	n.dependents = g.named(s.DependentSchemas)
	n.lists = int64(len(s.Required) + len(s.DependentSchemas) + len(s.DependentRequired) + len(s.Dependencies))
	for name, d := range s.Dependencies {
		switch d := d.(type) {
		case *jsonschema.Schema:
			if n.dependents == nil {
				n.dependents = make(map[string]*node)
			}
			n.dependents[name] = g.node(d)
		case []string:
			n.lists += int64(len(d))
			n.faults[objects]++
		}
	}
	for _, list := range s.DependentRequired {
		n.lists += int64(len(list))
		n.faults[objects]++
	}
	n.faults[objects] += one(s.MinProperties != nil) + one(s.MaxProperties != nil) + one(len(s.Required) > 0) + one(n.closed)
}

func (g *graph) fillArray(n *node, s *jsonschema.Schema) {
	if s.DraftVersion < 2020 {
		switch items := s.Items.(type) {
		case *jsonschema.Schema:
			n.items = g.node(items)
		case []*jsonschema.Schema:
			n.prefix = g.list(items)
			if rest, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
				n.items = g.node(rest)
			}
		}
	} else {
		n.prefix, n.items = g.list(s.PrefixItems), g.node(s.Items2020)
	}
	n.contains, n.unevaluatedItem = g.node(s.Contains), g.node(s.UnevaluatedItems)
	n.unique = s.UniqueItems
	n.faults[arrays] = one(s.MinItems != nil) + one(s.MaxItems != nil) + one(s.UniqueItems) + one(s.AdditionalItems != nil) +
		one(s.Contains != nil) + one(s.MaxContains != nil)
}

func (g *graph) fillScalar(n *node, s *jsonschema.Schema) {
	if p, ok := s.Pattern.(*pattern); ok {
		n.pattern = p.size
	}
	n.lengths = s.MinLength != nil || s.MaxLength != nil
	n.regex = s.Format != nil && s.Format.Name == "regex"
	n.faults[strs] = one(s.MinLength != nil) + one(s.MaxLength != nil) + one(s.Pattern != nil)
	n.faults[numbers] = one(s.Minimum != nil) + one(s.Maximum != nil) + one(s.ExclusiveMinimum != nil) +
		one(s.ExclusiveMaximum != nil) + one(s.MultipleOf != nil)
	n.numeric += n.faults[numbers]
	if s.Const != nil {
		n.equal(*s.Const)
	}
	if s.Enum != nil {
		for _, v := range s.Enum.Values {
			n.equal(v)
		}
	}
}

// equal counts a value of enum or const.
func (n *node) equal(v any) {
	switch v.(type) {
	case json.Number:
		n.numeric += 2
	case map[string]any, []any:
		n.equalDeep += deepWeight(v)
	default:
		n.equalStrings++
	}
}

// deepWeight returns an upper bound, in points, of a comparison with a value of a schema.
func deepWeight(v any) int64 {
	return total(v, func(v any) int64 {
		if _, ok := v.(json.Number); ok {
			return equalPoints + 2*numberPoints
		}
		return equalPoints
	})
}

func (g *graph) named(m map[string]*jsonschema.Schema) map[string]*node {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]*node, len(m))
	for name, s := range m {
		out[name] = g.node(s)
	}
	return out
}

func (g *graph) list(l []*jsonschema.Schema) []*node {
	out := make([]*node, 0, len(l))
	for _, s := range l {
		out = append(out, g.node(s))
	}
	return out
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
