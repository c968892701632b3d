package portable

import "slices"

// types is a set of JSON types. Integers and other numbers are separate.
type types uint8

const (
	typeString types = 1 << iota
	typeInteger
	typeFraction
	typeBoolean
	typeObject
	typeArray
	typeNull

	typeNumber = typeInteger | typeFraction
	anyType    = typeString | typeNumber | typeBoolean | typeObject | typeArray | typeNull
)

var typeNames = map[string]types{
	"string": typeString, "integer": typeInteger, "number": typeNumber, "boolean": typeBoolean,
	"object": typeObject, "array": typeArray, "null": typeNull,
}

// facts are the constraints of a schema, with its references and allOf resolved. Omitting a
// constraint makes it looser.
type facts struct {
	// none is true if no value matches.
	none  bool
	types types
	// values are those of enum or const. nil accepts any.
	values []any
	// properties are the members, names their order.
	names      []string
	properties map[string]sub
	required   nameList
	// closed is true if members outside properties are rejected. rest is the schema of such
	// members.
	closed bool
	rest   sub
	items  sub
	prefix []sub
	// keywords are the bounds, by their names. The first of two with the same name is used.
	keywords map[string]any
	// choices are the anyOf and oneOf.
	choices []choice
	header  any
	// cut is true if a recursive reference was not followed.
	cut bool
	// title and about are the author's title and description; words describe what the schema does
	// not express.
	title, about string
	words        []string
}

// choice is one anyOf or oneOf.
type choice struct {
	keyword  string
	branches []sub
}

// flatten reads a schema with its references and all parts of its allOf.
func (c *converter) flatten(in sub) *facts {
	f := &facts{types: anyType}
	c.take(f, in, 0)
	return f
}

// maxChain bounds consecutive references and allOf.
const maxChain = 64

func (c *converter) take(f *facts, in sub, depth int) {
	if c.charge(1); c.steps > maxSteps || depth > maxChain {
		f.cut = true
		return
	}
	o, ok := in.value.(*object)
	if !ok {
		f.none = f.none || in.value == false
		return
	}
	ref, isRef := o.get("$ref").(string)
	if !isRef || !c.refs.ignoreSiblings {
		c.ownKeywords(f, o, in, depth)
	}
	if isRef {
		c.follow(f, ref, in, depth)
	}
}

// follow adds the facts of a reference's target.
func (c *converter) follow(f *facts, ref string, in sub, depth int) {
	target, ok := c.refs.find(ref)
	switch {
	case !ok:
		f.addText(elsewhere)
	case in.open.count(target) >= Recursion:
		f.cut = true
		if t, ok := target.(*object); ok {
			f.types &= typesOf(t.get("type"))
		}
	default:
		c.take(f, sub{value: target, open: &opened{target: target, before: in.open}, referred: true}, depth+1)
	}
}

// possible returns the types that the values allow.
func (f *facts) possible() types {
	if f.none {
		return 0
	}
	if f.values == nil {
		return f.types
	}
	var set types
	for _, v := range f.values {
		set |= typeOf(v)
	}
	return set & f.types
}

// relevant lists the keywords of each type.
var relevant = map[types][]string{
	typeString: {"pattern", "format", "minLength", "maxLength", "contentEncoding"},
	typeNumber: {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	typeArray:  {"minItems", "maxItems", "uniqueItems"},
	typeObject: {"minProperties", "maxProperties"},
}

// constrainsType reports whether the schema constrains values of a type.
func (f *facts) constrainsType(t types) bool {
	switch {
	case f.values != nil:
		return true
	case t == typeObject && (len(f.names) > 0 || len(f.required.list) > 0 || f.closed || f.rest.value != nil):
		return true
	case t == typeArray && (f.items.value != nil || len(f.prefix) > 0):
		return true
	}
	if t&typeNumber != 0 {
		t = typeNumber
	}
	return slices.ContainsFunc(relevant[t], func(key string) bool { _, there := f.keywords[key]; return there })
}

// anything reports whether the schema accepts any JSON.
func (f *facts) anything() bool {
	if f.possible() != anyType {
		return false
	}
	for _, t := range eachType {
		if f.constrainsType(t) {
			return false
		}
	}
	return true
}

var eachType = []types{typeString, typeNumber, typeBoolean, typeObject, typeArray, typeNull}

// split returns facts for each possible type, first the types that the schema constrains.
func (f *facts) split() (out []*facts) {
	set := f.possible()
	kinds := make([]types, len(f.values))
	for i, v := range f.values {
		kinds[i] = typeOf(v)
	}
	for _, spoken := range []bool{true, false} {
		for _, t := range eachType {
			if t == typeNumber && set&typeFraction == 0 {
				t = typeInteger
			}
			if set&t == 0 || f.constrainsType(t) != spoken {
				continue
			}
			one := *f
			one.types, one.words = t, slices.Clone(f.words)
			if f.values != nil {
				one.values = []any{}
				for i, v := range f.values {
					if kinds[i]&t != 0 {
						one.values = append(one.values, v)
					}
				}
			}
			out = append(out, &one)
		}
	}
	return out
}
