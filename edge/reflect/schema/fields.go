package schema

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// field returns the schema of a field, and whether the field is required.
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

// presence determines whether a field is required: by its declaration or, if absence means the zero
// value, because its rules refuse that value.
func (g *generator) presence(s *object, fd protoreflect.FieldDescriptor, rules *ruleSet, must bool) (*object, bool) {
	if g.as.partial {
		return s, must
	}
	must = must || requiredByBehavior(fd) || rules.required()
	if fd.HasPresence() || rules == nil || must && !rules.required() {
		return s, must
	}
	zero := zeroOf(fd)
	g.meter.Step(refusesSteps)
	switch refused := refuses(s, zero); {
	case rules.required() && !refused:
		s.and(nonZero(fd))
	case refused && rules.ignoresZero() && !rules.required():
		s = obj("anyOf", []any{obj("const", zero), s})
	case refused:
		must = true
	}
	return s, must
}

// singular returns the schema of a field's value, or of one element of a list or map.
func (g *generator) singular(fd protoreflect.FieldDescriptor, rules *ruleSet) *object {
	if fd.Message() != nil {
		rules.unwrapped(g, fd)
		return g.message(fd.Message(), rules, g.variantOf(fd, rules))
	}
	return g.scalar(fd, rules)
}

// element is singular for list elements, map keys and map values, for which a rule may ignore the
// zero value.
func (g *generator) element(fd protoreflect.FieldDescriptor, rules *ruleSet) *object {
	s := g.singular(fd, rules)
	if fd.Message() == nil && rules.ignoresZero() {
		g.meter.Step(refusesSteps)
		if zero := zeroElement(fd); refuses(s, zero) {
			return obj("anyOf", []any{obj("const", zero), s})
		}
	}
	return s
}

// list returns the schema of a repeated field.
func (g *generator) list(fd protoreflect.FieldDescriptor, rules *ruleSet) *object {
	r := rules.repeated(g)
	s := obj("type", "array", "items", g.element(fd, r.items))
	bounds(s, "minItems", "maxItems", r.min, r.max)
	if r.unique {
		s.set("uniqueItems", true)
	}
	return s
}

// mapping returns the schema of a map field.
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

// key returns the schema of a map's keys, which are strings in JSON; nil accepts any.
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
			set = set.withZero(kind)
		}
		if len(set) == 0 {
			return never()
		}
		return obj("pattern", set.pattern(kindRange(kind)))
	}
}

// oneofs adds the conditions that at most one, or exactly one, member of each oneof is present.
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
		add(names, oneofRequired(o) && !g.as.partial && !g.as.unruled)
	}
	for _, o := range rules.oneofs {
		add(o.names, o.required && !g.as.partial)
	}
	switch len(conditions) {
	case 0:
	case 1:
		s.and(conditions[0].(*object))
	default:
		s.set("allOf", conditions)
	}
}

// choice returns the condition that at most one member is present, or exactly one if required; nil
// means no condition.
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
