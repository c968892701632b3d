package portable

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
)

// types is a set of JSON's types. Numbers are whole ones and others.
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

// facts is what a schema demands, its references and allOf taken in. A demand that is left out makes it
// looser.
type facts struct {
	// none: nothing fits.
	none  bool
	types types
	// values are those of enum or const; nil: any.
	values []any
	// properties in the order of names.
	names      []string
	properties map[string]sub
	required   []string
	// closed: members that are not among the properties are refused. rest is the schema of such members.
	closed bool
	rest   sub
	items  sub
	prefix []sub
	// keywords are the bounds, by their names; of two with one name the first counts.
	keywords map[string]any
	// choices are the anyOf and oneOf.
	choices []choice
	header  any
	// cut: a reference was not followed since it recurs.
	cut bool
	// about is what the author says of it, title and description; words are what the schema no longer says.
	title, about string
	words        []string
}

// choice is one anyOf or oneOf.
type choice struct {
	keyword  string
	branches []sub
}

// flatten reads a schema with all that it refers to and all parts of its allOf.
func (c *converter) flatten(in sub) *facts {
	f := &facts{types: anyType}
	c.take(f, in, 0)
	return f
}

// maxChain bounds references and allOf in a row.
const maxChain = 64

func (c *converter) take(f *facts, in sub, depth int) {
	if c.steps++; c.steps > maxSteps || depth > maxChain {
		f.cut = true
		return
	}
	o, ok := in.value.(*object)
	if !ok {
		f.none = f.none || in.value == false
		return
	}
	below := func(value any) sub { return sub{value: value, open: in.open, referred: in.referred} }
	ref, isRef := o.get("$ref").(string)
	if !isRef || !c.refs.alone {
		c.own(f, o, in, depth, below)
	}
	if !isRef {
		return
	}
	target, ok := c.refs.find(ref)
	switch {
	case !ok:
		f.say("It refers to another schema, which is not shown.")
	case in.open.times(target) >= Recursion:
		f.cut = true
		if t, ok := target.(*object); ok {
			f.types &= typesOf(t.get("type"))
		}
	default:
		c.take(f, sub{value: target, open: &opened{target: target, before: in.open}, referred: true}, depth+1)
	}
}

// own takes in a schema's own keywords.
func (c *converter) own(f *facts, o *object, in sub, depth int, below func(any) sub) {
	c.steps += len(o.keys) / 4
	var conditions []string
	for _, key := range o.keys {
		value := o.values[key]
		switch key {
		case "type":
			f.types &= typesOf(value)
		case "enum":
			if list, ok := value.([]any); ok {
				c.steps += len(list) / 4
				f.restrict(list)
			}
		case "const":
			f.restrict([]any{value})
		case "properties":
			if members, ok := value.(*object); ok {
				c.steps += len(members.keys) / 4
				for _, name := range members.keys {
					f.member(name, below(members.values[name]))
				}
			}
		case "required":
			list, _ := value.([]any)
			for _, x := range list {
				if name, ok := x.(string); ok && len(f.required) < maxList && !slices.Contains(f.required, name) {
					f.required = append(f.required, name)
				}
			}
		case "additionalProperties":
			if value == false {
				f.closed = f.closed || o.get("patternProperties") == nil
			} else if f.rest.value == nil {
				f.rest = below(value)
			}
		case "items":
			if list, ok := value.([]any); ok { // before 2020-12
				f.tuple(list, below)
			} else if f.items.value == nil {
				f.items = below(value)
			}
		case "prefixItems":
			if list, ok := value.([]any); ok {
				f.tuple(list, below)
			}
		case "allOf":
			list, _ := value.([]any)
			for _, part := range list {
				one := below(part)
				one.referred = true
				c.take(f, one, depth+1)
			}
		case "anyOf", "oneOf":
			if list, ok := value.([]any); ok && len(list) > 0 {
				one := choice{keyword: key}
				for _, part := range list {
					b := below(part)
					b.referred = true
					one.branches = append(one.branches, b)
				}
				f.choices = append(f.choices, one)
			}
		case "title":
			if text, ok := value.(string); ok && f.title == "" {
				f.title = text
			}
		case "description":
			if text, ok := value.(string); ok && f.about == "" {
				f.about = text
			}
		case headerKey:
			if !in.referred && f.header == nil {
				f.header = value
			}
		case "not", "if", "dependentRequired", "dependentSchemas", "dependencies", "contains", "unevaluatedProperties",
			"unevaluatedItems", "patternProperties", "propertyNames", "$dynamicRef", "$recursiveRef":
			conditions = append(conditions, key)
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
			"pattern", "format", "contentEncoding", "minItems", "maxItems", "uniqueItems", "minProperties",
			"maxProperties", "default", "examples", "deprecated", "readOnly", "writeOnly":
			f.keyword(key, value)
		}
	}
	f.conditions(conditions)
}

// member adds a property. Of two schemas for one name the first counts.
func (f *facts) member(name string, s sub) {
	if _, there := f.properties[name]; there {
		return
	}
	if f.properties == nil {
		f.properties = make(map[string]sub)
	}
	f.names = append(f.names, name)
	f.properties[name] = s
}

// keyword adds a bound. Of two with one name the first counts.
func (f *facts) keyword(key string, value any) {
	if _, there := f.keywords[key]; there {
		return
	}
	if f.keywords == nil {
		f.keywords = make(map[string]any)
	}
	f.keywords[key] = value
}

func (f *facts) tuple(list []any, below func(any) sub) {
	if len(f.prefix) > 0 {
		return
	}
	for _, x := range list {
		f.prefix = append(f.prefix, below(x))
	}
}

// maxList bounds lists of which each entry is compared with all of another; what is beyond it is no demand.
const maxList = 2000

// restrict leaves of the values those in a list.
func (f *facts) restrict(list []any) {
	if len(list) > maxList {
		f.say(fmt.Sprintf("One of %d values, which are not shown.", len(list)))
		return
	}
	if f.values == nil {
		f.values = append([]any{}, list...)
		return
	}
	f.values = slices.DeleteFunc(f.values, func(v any) bool {
		return !slices.ContainsFunc(list, func(x any) bool { return same(v, x) })
	})
}

// same compares two values as JSON Schema does; of numbers that are too large to compute with it says yes.
func same(a, b any) bool {
	x, ok := a.(json.Number)
	y, ok2 := b.(json.Number)
	if !ok || !ok2 {
		switch a.(type) {
		case *object, []any:
			switch b.(type) {
			case *object, []any:
				return true // not compared: a value too many is looser
			}
			return false
		}
		switch b.(type) {
		case *object, []any:
			return false
		}
		return a == b
	}
	n, ok := number(x)
	m, ok2 := number(y)
	return !ok || !ok2 || n.Cmp(m) == 0
}

// number reads a number of bounded size.
func number(v any) (*big.Rat, bool) {
	text, ok := v.(json.Number)
	if !ok || len(text) > 40 {
		return nil, false
	}
	if f, err := text.Float64(); err != nil || f > 1e30 || f < -1e30 || f != 0 && f < 1e-30 && f > -1e-30 {
		return nil, false
	}
	return new(big.Rat).SetString(string(text))
}

// count reads a count, as interfaces take it.
func count(v any) (int64, bool) {
	n, ok := number(v)
	if !ok || !n.IsInt() || n.Sign() < 0 || !n.Num().IsInt64() || n.Num().Int64() > 1<<31 {
		return 0, false
	}
	return n.Num().Int64(), true
}

// typesOf reads a type keyword; what names no type is no demand.
func typesOf(value any) types {
	if name, ok := value.(string); ok {
		if t, known := typeNames[name]; known {
			return t
		}
		return anyType
	}
	list, ok := value.([]any)
	if !ok {
		return anyType
	}
	var set types
	for _, x := range list {
		name, _ := x.(string)
		t, known := typeNames[name]
		if !known {
			return anyType
		}
		set |= t
	}
	return set
}

// typeOf is the type of a value. A number that is too large to compute with may be of either kind.
func typeOf(v any) types {
	switch x := v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBoolean
	case string:
		return typeString
	case json.Number:
		n, ok := number(x)
		switch {
		case !ok:
			return typeNumber
		case n.IsInt():
			return typeInteger
		}
		return typeFraction
	case []any:
		return typeArray
	}
	return typeObject
}

// possible are the types that the values leave.
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

// relevant are the keywords of each type.
var relevant = map[types][]string{
	typeString: {"pattern", "format", "minLength", "maxLength", "contentEncoding"},
	typeNumber: {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	typeArray:  {"minItems", "maxItems", "uniqueItems"},
	typeObject: {"minProperties", "maxProperties"},
}

// speaksOf reports whether the schema says something of values of a type.
func (f *facts) speaksOf(t types) bool {
	switch {
	case f.values != nil:
		return true
	case t == typeObject && (len(f.names) > 0 || len(f.required) > 0 || f.closed || f.rest.value != nil):
		return true
	case t == typeArray && (f.items.value != nil || len(f.prefix) > 0):
		return true
	}
	if t&typeNumber != 0 {
		t = typeNumber
	}
	return slices.ContainsFunc(relevant[t], func(key string) bool { _, there := f.keywords[key]; return there })
}

// anything reports whether any JSON fits.
func (f *facts) anything() bool {
	if f.possible() != anyType {
		return false
	}
	for _, t := range eachType {
		if f.speaksOf(t) {
			return false
		}
	}
	return true
}

var eachType = []types{typeString, typeNumber, typeBoolean, typeObject, typeArray, typeNull}

// split is one for each type that is possible, those first that the schema speaks of.
func (f *facts) split() (out []*facts) {
	set := f.possible()
	for _, spoken := range []bool{true, false} {
		for _, t := range eachType {
			if t == typeNumber && set&typeFraction == 0 {
				t = typeInteger
			}
			if set&t == 0 || f.speaksOf(t) != spoken {
				continue
			}
			one := *f
			one.types, one.words = t, slices.Clone(f.words)
			if f.values != nil {
				one.values = slices.DeleteFunc(slices.Clone(f.values), func(v any) bool { return typeOf(v)&t == 0 })
			}
			out = append(out, &one)
		}
	}
	return out
}
