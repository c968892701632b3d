package schema

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Wrapper is the member that holds a message whose JSON is no object.
const Wrapper = "value"

// Schema is what was written.
type Schema struct {
	// JSON is the schema, an object at its root.
	JSON string
	// Notes are sentences about what the schema cannot hold, naming field and rule. Each once.
	Notes []string
}

// Input writes the schema of what a method takes.
func Input(md protoreflect.MessageDescriptor) Schema { return generate(md, true) }

// Output writes the schema of what a method gives.
func Output(md protoreflect.MessageDescriptor) Schema { return generate(md, false) }

// generator writes one schema.
type generator struct {
	input bool
	root  protoreflect.FullName
	// shared are the messages that stand in $defs: those that recur, or are used in several places.
	shared map[protoreflect.FullName]bool
	defs   map[protoreflect.FullName]*object
	order  []protoreflect.FullName
	notes  []string
}

func generate(md protoreflect.MessageDescriptor, input bool) Schema {
	g := &generator{
		input: input, root: md.FullName(),
		shared: map[protoreflect.FullName]bool{}, defs: map[protoreflect.FullName]*object{},
	}
	var root *object
	if Wrapped(md) {
		g.survey(md, map[protoreflect.FullName]bool{})
		root = obj("type", "object", "properties", obj(Wrapper, g.message(md, nil)), "required", []any{Wrapper})
		if input {
			root.set("additionalProperties", false)
		}
	} else if special := g.wellKnown(md, nil); special != nil {
		root = special
	} else {
		g.survey(md, map[protoreflect.FullName]bool{})
		root = g.body(md)
	}
	if len(g.order) > 0 {
		slices.Sort(g.order)
		defs := obj()
		for _, name := range g.order {
			defs.set(string(name), g.defs[name])
		}
		root.set("$defs", defs)
	}
	text, err := marshal(root)
	if err != nil { // texts, numbers and maps of them: they always marshal
		return Schema{JSON: `{"type":"object"}`, Notes: append(g.notes, "the schema cannot be written: "+err.Error())}
	}
	return Schema{JSON: string(text), Notes: g.notes}
}

// survey finds the messages that stand in $defs. open are those on the way to md.
func (g *generator) survey(md protoreflect.MessageDescriptor, open map[protoreflect.FullName]bool) {
	seen := map[protoreflect.FullName]bool{}
	var walk func(md protoreflect.MessageDescriptor)
	walk = func(md protoreflect.MessageDescriptor) {
		name := md.FullName()
		if seen[name] {
			g.shared[name] = true
			return
		}
		seen[name] = true
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			if fd.IsMap() {
				fd = fd.MapValue()
			}
			if sub := fd.Message(); sub != nil && !isWellKnown(sub) {
				walk(sub)
			}
		}
	}
	walk(md)
}

// note records what cannot be held.
func (g *generator) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(g.notes, text) {
		g.notes = append(g.notes, text)
	}
}

// message is the schema of a message where it is used: itself, or a reference.
func (g *generator) message(md protoreflect.MessageDescriptor, rules *ruleSet) *object {
	if special := g.wellKnown(md, rules); special != nil {
		return special
	}
	name := md.FullName()
	if !g.shared[name] {
		return g.body(md)
	}
	if g.defs[name] == nil {
		g.defs[name] = obj() // stands for it while it is being written
		g.order = append(g.order, name)
		g.defs[name] = g.body(md)
	}
	return obj("$ref", "#/$defs/"+string(name))
}

// body is the schema of a message with its fields.
func (g *generator) body(md protoreflect.MessageDescriptor) *object {
	s := obj("type", "object")
	if text := describe(md); text != "" && md.FullName() != g.root {
		s.set("description", text)
	}
	rules := g.messageRules(md)
	properties := obj()
	var required []any
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		property, must := g.field(fd, rules)
		properties.set(fd.JSONName(), property)
		if must {
			required = append(required, fd.JSONName())
		}
	}
	s.set("properties", properties)
	if len(required) > 0 {
		s.set("required", required)
	}
	if md.ExtensionRanges().Len() > 0 {
		s.set("patternProperties", obj(`^\[.+\]$`, obj()))
	}
	if g.input {
		s.set("additionalProperties", false)
		g.oneofs(s, md, rules)
	}
	return s
}

// field is the schema of one field, and whether it must be there.
func (g *generator) field(fd protoreflect.FieldDescriptor, of *messageRules) (s *object, must bool) {
	rules := g.fieldRules(fd, of)
	must = fd.Cardinality() == protoreflect.Required
	switch {
	case fd.IsMap():
		s = g.mapping(fd, rules)
	case fd.IsList():
		s = g.list(fd, rules)
	default:
		s = g.singular(fd, rules)
	}
	if g.input {
		s, must = g.presence(s, fd, rules, must)
	} else {
		must = must || !fd.HasPresence()
	}
	return g.decorate(s, fd), must
}

// presence says whether a field must be there: it is required, or, where absence is the zero value, its
// rules refuse that value.
func (g *generator) presence(s *object, fd protoreflect.FieldDescriptor, rules *ruleSet, must bool) (*object, bool) {
	must = must || requiredByBehavior(fd) || rules.required()
	if fd.HasPresence() || rules == nil || must && !rules.required() {
		return s, must
	}
	zero := zeroOf(fd)
	switch refused := refuses(s, zero); {
	case rules.required() && !refused:
		s.also(nonZero(fd))
	case refused && rules.ignoresZero() && !rules.required():
		s = obj("anyOf", []any{obj("const", zero), s})
	case refused:
		must = true
	}
	return s, must
}

// singular is the schema of one value of a field, of an element, or of a map's value.
func (g *generator) singular(fd protoreflect.FieldDescriptor, rules *ruleSet) *object {
	if fd.Message() != nil {
		rules.unwrapped(g, fd)
		return g.message(fd.Message(), rules)
	}
	return g.scalar(fd, rules)
}

// element is singular for elements of lists, map keys and map values, whose zero value may be passed over.
func (g *generator) element(fd protoreflect.FieldDescriptor, rules *ruleSet) *object {
	s := g.singular(fd, rules)
	if fd.Message() == nil && rules.ignoresZero() {
		if zero := zeroElement(fd); refuses(s, zero) {
			return obj("anyOf", []any{obj("const", zero), s})
		}
	}
	return s
}

// list is the schema of a repeated field.
func (g *generator) list(fd protoreflect.FieldDescriptor, rules *ruleSet) *object {
	r := rules.repeated(g)
	s := obj("type", "array", "items", g.element(fd, r.items))
	bounds(s, "minItems", "maxItems", r.min, r.max)
	if r.unique {
		s.set("uniqueItems", true)
	}
	return s
}

// mapping is the schema of a map field.
func (g *generator) mapping(fd protoreflect.FieldDescriptor, rules *ruleSet) *object {
	r := rules.mapping(g)
	s := obj("type", "object")
	if names := g.key(fd.MapKey(), r.keys); names != nil {
		s.set("propertyNames", names)
	}
	s.set("additionalProperties", g.element(fd.MapValue(), r.values))
	bounds(s, "minProperties", "maxProperties", r.min, r.max)
	return s
}

// key is the schema of a map's keys, which are texts in JSON; nil: any.
func (g *generator) key(fd protoreflect.FieldDescriptor, rules *ruleSet) *object {
	switch kind := fd.Kind(); kind {
	case protoreflect.BoolKind:
		keys := []any{"true", "false"}
		if want, ok := rules.boolean(g); ok {
			keys = []any{fmt.Sprint(want)}
		}
		return obj("enum", keys)
	case protoreflect.StringKind:
		s := g.element(fd, rules)
		if len(s.keys) == 1 && s.has("type") {
			return nil
		}
		return s
	default:
		set := rules.integers(g, kind)
		if rules.ignoresZero() {
			set = set.with0(kind)
		}
		if len(set) == 0 {
			return never()
		}
		return obj("pattern", set.pattern(extent(kind)))
	}
}

// oneofs lets at most one, or exactly one, member of each oneof be there.
func (g *generator) oneofs(s *object, md protoreflect.MessageDescriptor, rules *messageRules) {
	var conditions []any
	add := func(names []string, required bool) {
		if c := choice(names, required); c != nil {
			conditions = append(conditions, c)
		}
	}
	for i := range md.Oneofs().Len() {
		o := md.Oneofs().Get(i)
		if o.IsSynthetic() {
			continue
		}
		var names []string
		for j := range o.Fields().Len() {
			names = append(names, o.Fields().Get(j).JSONName())
		}
		add(names, oneofRequired(o))
	}
	for _, o := range rules.oneofs {
		add(o.names, o.required)
	}
	switch len(conditions) {
	case 0:
	case 1:
		s.also(conditions[0].(*object))
	default:
		s.set("allOf", conditions)
	}
}

// choice is the condition that at most one member is there, or exactly one; nil: no condition.
func choice(names []string, required bool) *object {
	if len(names) == 0 || len(names) == 1 && !required {
		return nil
	}
	var branches []any
	for _, n := range names {
		branches = append(branches, obj("required", []any{n}))
	}
	if !required {
		branches = append(branches, obj("not", obj("anyOf", slices.Clone(branches))))
	}
	return obj("oneOf", branches)
}
