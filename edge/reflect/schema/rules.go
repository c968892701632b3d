package schema

import (
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ruleSet has protovalidate's rules of a field, an element or a key. nil has no rules.
type ruleSet struct {
	rules *validate.FieldRules
	// where is the position in notes.
	where string
	// optional ignores the zero value even without an explicit rule.
	optional bool
	// never disables all rules, here and in nested messages (IGNORE_ALWAYS).
	never bool
}

// messageRules has protovalidate's rules of a message.
type messageRules struct{ oneofs []messageOneof }

type messageOneof struct {
	fields, names []string
	required      bool
}

// messageRules returns the rules of a message, and notes those that a schema cannot express.
func (g *generator) messageRules(md protoreflect.MessageDescriptor) *messageRules {
	found := &messageRules{}
	rules, ok := Option[*validate.MessageRules](md, validate.E_Message)
	if !ok || !g.input || g.as.unruled {
		return found
	}
	where := "message " + string(md.FullName())
	g.expressions(where, rules.GetCel(), rules.GetCelExpression())
	g.noteUnknownRules(where, rules)
	for _, o := range rules.GetOneof() {
		one := messageOneof{fields: o.GetFields(), required: o.GetRequired()}
		for _, name := range o.GetFields() {
			fd := md.Fields().ByName(protoreflect.Name(name))
			if fd == nil {
				g.note("%s: the oneof rule names %q, which is not a field", where, name)
				continue
			}
			one.names = append(one.names, fd.JSONName())
		}
		if len(one.names) == len(one.fields) {
			found.oneofs = append(found.oneofs, one)
		}
	}
	return found
}

// fieldRules returns the rules of a field, or nil.
func (g *generator) fieldRules(fd protoreflect.FieldDescriptor, of *messageRules) *ruleSet {
	rules, ok := Option[*validate.FieldRules](fd, validate.E_Field)
	if !ok || !g.input || g.as.unruled {
		return nil
	}
	r := g.rulesOf(rules, "field "+string(fd.FullName()))
	if r != nil && !rules.HasIgnore() {
		r.optional = slices.ContainsFunc(of.oneofs, func(o messageOneof) bool {
			return slices.Contains(o.fields, string(fd.Name()))
		})
	}
	return r
}

// rulesOf wraps rules, and notes CEL expressions. It returns nil if there are none.
func (g *generator) rulesOf(rules *validate.FieldRules, where string) *ruleSet {
	switch {
	case rules == nil:
		return nil
	case rules.GetIgnore() == validate.Ignore_IGNORE_ALWAYS:
		return &ruleSet{rules: &validate.FieldRules{}, where: where, never: true}
	}
	g.expressions(where, rules.GetCel(), rules.GetCelExpression())
	g.noteUnknownRules(where, rules)
	return &ruleSet{rules: rules, where: where}
}

// expressions notes CEL expressions.
func (g *generator) expressions(where string, cel []*validate.Rule, bare []string) {
	for _, rule := range cel {
		name := rule.GetId()
		if name == "" {
			name = rule.GetExpression()
		}
		if text := rule.GetMessage(); text != "" {
			name += " (" + text + ")"
		}
		g.note("%s: the CEL rule %s is not in the schema", where, name)
	}
	for _, expression := range bare {
		g.note("%s: the CEL rule %s is not in the schema", where, expression)
	}
}

// noteUnknownRules notes unknown rules: of a newer protovalidate, or predefined by the service.
func (g *generator) noteUnknownRules(where string, rules proto.Message) {
	m := rules.ProtoReflect()
	unknown := len(m.GetUnknown()) > 0
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		unknown = unknown || fd.IsExtension()
		return true
	})
	if unknown {
		g.note("%s: a predefined or unknown rule of %s is not in the schema", where, m.Descriptor().Name())
	}
}

// disabled reports whether all rules are disabled, here and in nested messages.
func (r *ruleSet) disabled() bool { return r != nil && r.never }

func (r *ruleSet) required() bool { return r != nil && r.rules.GetRequired() }

// ignoresZero reports whether the rules ignore the zero value.
func (r *ruleSet) ignoresZero() bool {
	return r != nil && (r.optional || r.rules.GetIgnore() == validate.Ignore_IGNORE_IF_ZERO_VALUE)
}

// of returns the rules of one type, such as "string", or nil. It notes rules of other types.
func (r *ruleSet) of(g *generator, name string) protoreflect.Message {
	if r == nil {
		return nil
	}
	m := r.rules.ProtoReflect()
	fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("type"))
	if fd == nil {
		return nil
	}
	if string(fd.Name()) != name {
		g.note("%s: the %s rules do not fit its type, and are not in the schema", r.where, fd.Name())
		return nil
	}
	rules := m.Get(fd).Message()
	g.noteUnknownRules(r.where, rules.Interface())
	return rules
}

// each calls fn with every rule that is set, in the order of their numbers. A rule for which fn
// returns false is noted.
func (r *ruleSet) each(g *generator, rules protoreflect.Message, fn func(name string, v protoreflect.Value) bool) {
	if rules == nil {
		return
	}
	fields := rules.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.IsList() && !g.listed(rules.Get(fd).List()) {
			g.note("%s: the rule %s.%s has more values than a schema may, and is not in it", r.where, strings.TrimSuffix(string(rules.Descriptor().Name()), "Rules"), fd.Name())
			continue
		}
		if rules.Has(fd) && fd.Name() != "example" && !fn(string(fd.Name()), rules.Get(fd)) {
			g.note("%s: the rule %s.%s is not in the schema", r.where, strings.TrimSuffix(string(rules.Descriptor().Name()), "Rules"), fd.Name())
		}
	}
}

// maxListed bounds the values of a rule.
const maxListed = 1_000

// listed reports whether the values of a rule are few and short enough to be written into the schema. It charges their cost to the bounds.
func (g *generator) listed(values protoreflect.List) bool {
	if values.Len() > maxListed {
		return false
	}
	size := values.Len() * len(`"",`)
	for i := range values.Len() {
		switch v := values.Get(i).Interface().(type) {
		case string:
			size += len(v)
		case []byte:
			size += len(v)
		}
	}
	return g.meter.Step(4*values.Len()) && g.spend(size)
}

// approximate notes a rule that the schema enforces in part.
func (r *ruleSet) approximate(g *generator, rule, how string) {
	g.note("%s: the rule %s is in the schema only %s", r.where, rule, how)
}

// unwrapped notes rules of a message field that apply to well-known types only.
func (r *ruleSet) unwrapped(g *generator, fd protoreflect.FieldDescriptor) {
	if r == nil || IsWellKnown(fd.Message()) {
		return
	}
	m := r.rules.ProtoReflect()
	if x := m.WhichOneof(m.Descriptor().Oneofs().ByName("type")); x != nil {
		g.note("%s: the %s rules do not fit its type, and are not in the schema", r.where, x.Name())
	}
}

type listRules struct {
	min, max *uint64
	unique   bool
	items    *ruleSet
}

func (r *ruleSet) repeated(g *generator) (out listRules) {
	if r.disabled() {
		return listRules{items: r}
	}
	rules, _ := r.messageOf(g, "repeated").(*validate.RepeatedRules)
	if rules == nil {
		return out
	}
	out.min, out.max, out.unique = rules.MinItems, rules.MaxItems, rules.GetUnique()
	out.items = g.rulesOf(rules.GetItems(), "the items of "+r.where)
	return out
}

type mapRules struct {
	min, max     *uint64
	keys, values *ruleSet
}

func (r *ruleSet) mapping(g *generator) (out mapRules) {
	if r.disabled() {
		return mapRules{keys: r, values: r}
	}
	rules, _ := r.messageOf(g, "map").(*validate.MapRules)
	if rules == nil {
		return out
	}
	out.min, out.max = rules.MinPairs, rules.MaxPairs
	out.keys = g.rulesOf(rules.GetKeys(), "the keys of "+r.where)
	out.values = g.rulesOf(rules.GetValues(), "the values of "+r.where)
	return out
}

func (r *ruleSet) messageOf(g *generator, name string) proto.Message {
	m := r.of(g, name)
	if m == nil {
		return nil
	}
	return m.Interface()
}

func oneofRequired(o protoreflect.OneofDescriptor) bool {
	rules, _ := Option[*validate.OneofRules](o, validate.E_Oneof)
	return rules.GetRequired()
}

func behaviors(fd protoreflect.FieldDescriptor) []annotations.FieldBehavior {
	b, _ := Option[[]annotations.FieldBehavior](fd, annotations.E_FieldBehavior)
	return b
}

func requiredByBehavior(fd protoreflect.FieldDescriptor) bool {
	return slices.Contains(behaviors(fd), annotations.FieldBehavior_REQUIRED)
}
