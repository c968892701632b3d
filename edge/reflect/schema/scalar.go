package schema

import (
	"encoding/base64"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// scalar returns the schema of a value that is not a message.
func (g *generator) scalar(fd protoreflect.FieldDescriptor, rules *ruleSet) *object {
	switch kind := fd.Kind(); kind {
	case protoreflect.BoolKind:
		s := obj("type", "boolean")
		if want, ok := rules.boolean(g); ok {
			s.set("const", want)
		}
		return s
	case protoreflect.EnumKind:
		return g.enum(fd.Enum(), rules)
	case protoreflect.StringKind:
		return g.text(rules)
	case protoreflect.BytesKind:
		return g.bytes(rules)
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return g.float(kind, rules)
	default:
		return g.integer(kind, rules.integers(g, kind))
	}
}

// boolean returns the only accepted value. ok is false if both are accepted.
func (r *ruleSet) boolean(g *generator) (want, ok bool) {
	r.each(g, r.of(g, "bool"), func(name string, v protoreflect.Value) bool {
		if name == "const" {
			want, ok = v.Bool(), true
		}
		return name == "const"
	})
	return want, ok
}

// enum returns the schema of an enum's names. Numbers without a name, which an open enum may have,
// are accepted in outputs only.
func (g *generator) enum(ed protoreflect.EnumDescriptor, rules *ruleSet) *object {
	if ed.FullName() == "google.protobuf.NullValue" {
		return obj("type", "null")
	}
	allowed := func(protoreflect.EnumNumber) bool { return true }
	narrow := func(ok func(protoreflect.EnumNumber) bool) {
		before := allowed
		allowed = func(n protoreflect.EnumNumber) bool { return before(n) && ok(n) }
	}
	rules.each(g, rules.of(g, "enum"), func(name string, v protoreflect.Value) bool {
		switch name {
		case "const":
			narrow(func(n protoreflect.EnumNumber) bool { return int64(n) == v.Int() })
		case "in", "not_in":
			listed := map[int64]bool{}
			for i := range v.List().Len() {
				listed[v.List().Get(i).Int()] = true
			}
			narrow(func(n protoreflect.EnumNumber) bool { return listed[int64(n)] == (name == "in") })
		case "defined_only":
		default:
			return false
		}
		return true
	})
	var names []any
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		if !g.spend(len(v.Name()) + len(`"",`)) {
			break
		}
		if allowed(v.Number()) {
			names = append(names, string(v.Name()))
		}
	}
	if len(names) == 0 {
		return never()
	}
	s := obj("type", "string", "enum", names)
	if !g.input && !ed.IsClosed() {
		s = obj("anyOf", []any{s, obj("type", "integer")})
	}
	return s
}

// base64 patterns: both alphabets with or without padding, and the form that protojson writes.
const (
	anyBase64  = `^[A-Za-z0-9+/_-]*={0,2}$`
	base64Char = `[A-Za-z0-9+/_-]`
)

// bytes returns the schema of base64.
func (g *generator) bytes(rules *ruleSet) *object {
	s := obj("type", "string", "contentEncoding", "base64")
	if !g.input {
		return s
	}
	low, high := uint64(0), uint64(math.MaxUint64)
	var lengths []uint64
	rules.each(g, rules.of(g, "bytes"), func(name string, v protoreflect.Value) bool {
		switch name {
		case "len":
			low, high = max(low, v.Uint()), min(high, v.Uint())
		case "min_len":
			low = max(low, v.Uint())
		case "max_len":
			high = min(high, v.Uint())
		case "ip", "ipv4", "ipv6", "uuid":
			if v.Bool() {
				lengths = map[string][]uint64{"ip": {4, 16}, "ipv4": {4}, "ipv6": {16}, "uuid": {16}}[name]
			}
		case "const":
			if len(v.Bytes()) > limit.MaxText {
				return false
			}
			s.and(obj("enum", []any{g.counted(encode(v.Bytes()))}))
		case "in":
			s.and(obj("enum", encodings(v.List())))
		case "not_in":
			s.and(obj("not", obj("enum", encodings(v.List()))))
		default:
			return false
		}
		return true
	})
	switch {
	case len(lengths) > 0:
		var forms []string
		for _, n := range lengths {
			if low <= n && n <= high {
				forms = append(forms, base64Char+"{"+strconv.FormatUint(base64Length(n), 10)+"}")
			}
		}
		if len(forms) == 0 {
			return never()
		}
		return s.set("pattern", "^(?:"+strings.Join(forms, "|")+")={0,2}$")
	case low > high:
		return never()
	case low == 0 && high == math.MaxUint64:
		return s.set("pattern", anyBase64)
	}
	return rules.sized(g, s, low, high)
}

// maxRepeat is RE2's maximum repetition count.
const maxRepeat = 1000

// sized bounds the number of bytes by the number of characters without padding, where a pattern can
// count them.
func (r *ruleSet) sized(g *generator, s *object, low, high uint64) *object {
	if low <= maxRepeat/2 && (high == math.MaxUint64 || high <= maxRepeat/2) {
		upper := ""
		if high != math.MaxUint64 {
			upper = strconv.FormatUint(base64Length(high), 10)
		}
		return s.set("pattern", "^"+base64Char+"{"+strconv.FormatUint(base64Length(low), 10)+","+upper+"}={0,2}$")
	}
	s.set("pattern", anyBase64)
	if low > 0 {
		s.set("minLength", clamp(low)/3*4)
	}
	if high < math.MaxUint64 {
		s.set("maxLength", (clamp(high)+2)/3*4)
	}
	r.approximate(g, "on its length", "to within two bytes")
	return s
}

// base64Length returns the number of base64 characters for n bytes without padding.
func base64Length(n uint64) uint64 { return (n*4 + 2) / 3 }

func clamp(n uint64) uint64 { return min(n, 1<<31) }

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func encodings(list protoreflect.List) []any {
	out := make([]any, list.Len())
	for i := range out {
		out[i] = encode(list.Get(i).Bytes())
	}
	return out
}

// bounds sets the two members for a minimum and a maximum.
func bounds(s *object, lowest, highest string, low, high *uint64) {
	if low != nil && *low > 0 {
		s.set(lowest, clamp(*low))
	}
	if high != nil {
		s.set(highest, clamp(*high))
	}
}

// zeroOf returns the zero value of a field as protojson writes it.
func zeroOf(fd protoreflect.FieldDescriptor) any {
	switch {
	case fd.IsMap():
		return map[string]any{}
	case fd.IsList():
		return []any{}
	}
	return zeroElement(fd)
}

// zeroElement returns the zero value of an element of a field, or of a singular field.
func zeroElement(fd protoreflect.FieldDescriptor) any {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return false
	case protoreflect.StringKind, protoreflect.BytesKind:
		return ""
	case protoreflect.EnumKind:
		if v := fd.Enum().Values().ByNumber(0); v != nil {
			return string(v.Name())
		}
		return 0
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return "0"
	}
	return 0
}

// nonZero returns the condition that a field is not at its zero value, in any of its forms.
func nonZero(fd protoreflect.FieldDescriptor) *object {
	switch {
	case fd.IsMap():
		return obj("minProperties", 1)
	case fd.IsList():
		return obj("minItems", 1)
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return obj("const", true)
	case protoreflect.StringKind:
		return obj("minLength", 1)
	case protoreflect.BytesKind:
		return obj("minLength", 2)
	case protoreflect.EnumKind:
		zeros := []any{}
		for i := range fd.Enum().Values().Len() {
			if v := fd.Enum().Values().Get(i); v.Number() == 0 {
				zeros = append(zeros, string(v.Name()))
			}
		}
		return obj("not", obj("enum", zeros))
	}
	return obj("not", obj("enum", []any{0, "0"}))
}

// refusesSteps is the cost of refuses, which compiles a schema, in steps.
const refusesSteps = 20

// refuses reports whether a schema rejects a zero value. Only elements of lists and maps have
// references, and zero values have no elements.
func refuses(s *object, value any) bool {
	switch value.(type) {
	case []any:
		return s.has("minItems")
	case map[string]any:
		return s.has("minProperties")
	}
	text, err := marshal(s)
	if err != nil {
		return false
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		return false
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	const self = "schema:field"
	if c.AddResource(self, doc) != nil {
		return false
	}
	compiled, err := c.Compile(self)
	return err == nil && compiled.Validate(value) != nil
}

// kindRange returns the range of all integers of a kind.
func kindRange(kind protoreflect.Kind) interval {
	switch kind {
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return interval{new(big.Int), big.NewInt(math.MaxUint32)}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return interval{new(big.Int), new(big.Int).SetUint64(math.MaxUint64)}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return interval{big.NewInt(math.MinInt64), big.NewInt(math.MaxInt64)}
	default:
		return interval{big.NewInt(math.MinInt32), big.NewInt(math.MaxInt32)}
	}
}
