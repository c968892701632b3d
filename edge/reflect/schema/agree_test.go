package schema_test

import (
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/reflect/schema"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// TestMain tries more random messages than rapid does by itself, and leaves no files behind.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "800", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// sound keeps every rule of Ruled.
const sound = `{
	"strConst": "a", "strRange": "ab", "strRequired": "x",
	"i32Range": 1, "s32NotIn": 1, "i64Range": "12", "u64Range": "6", "f32Required": 3,
	"dblRange": 1, "dblRequired": -2, "boolConst": true, "boolRequired": true,
	"enumRequired": "COLOR_RED", "enumIn": "COLOR_BLUE",
	"bytesLen": "YWJj", "bytesRequired": "YQ==",
	"listRange": ["a"], "listRequired": ["COLOR_RED"], "mapRules": {"a": 1},
	"leaf": {"first": "ab"}, "mustText": "a"}`

// Over random messages in canonical JSON the schema and protovalidate agree, both ways.
func TestSchemaAgreesWithValidator(t *testing.T) {
	md := message("Ruled")
	compiled := compile(t, schema.Input(md, limit.New(t.Context(), nil)))
	types := dynamicpb.NewTypes(files)
	validator, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	valid, invalid := 0, 0
	touched := map[protoreflect.Name][2]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := dynamicpb.NewMessage(md)
		if err := (protojson.UnmarshalOptions{Resolver: types}).Unmarshal([]byte(sound), m); err != nil {
			t.Fatal(err)
		}
		var changed []protoreflect.Name
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			fd := md.Fields().Get(rapid.IntRange(0, md.Fields().Len()-1).Draw(t, "field"))
			change(t, m, fd)
			changed = append(changed, fd.Name())
		}
		text, err := (protojson.MarshalOptions{Resolver: types}).Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		fault := validator.Validate(m)
		if got := accepts(t, compiled, string(text)); got != (fault == nil) {
			t.Fatalf("the schema accepts: %v; the validator says: %v; of %v in\n%s", got, fault, changed, text)
		}
		side := 0
		if fault == nil {
			valid++
		} else {
			invalid++
			side = 1
		}
		if len(changed) == 1 {
			n := touched[changed[0]]
			n[side]++
			touched[changed[0]] = n
		}
	})
	if valid == 0 || invalid == 0 {
		t.Errorf("%d valid and %d invalid messages: one side was not tried", valid, invalid)
	}
	t.Logf("%d valid, %d invalid, %d fields changed alone", valid, invalid, len(touched))
}

// Each field alone, at every value of its pool: what random choice may not reach.
func TestEachRuleAgreesWithValidator(t *testing.T) {
	md := message("Ruled")
	compiled := compile(t, schema.Input(md, limit.New(t.Context(), nil)))
	types := dynamicpb.NewTypes(files)
	validator, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	base := dynamicpb.NewMessage(md)
	if err := (protojson.UnmarshalOptions{Resolver: types}).Unmarshal([]byte(sound), base); err != nil {
		t.Fatal(err)
	}
	if err := validator.Validate(base); err != nil {
		t.Fatalf("the message to begin with is not valid: %v", err)
	}
	both := 0
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		good, bad := 0, 0
		try := func(m proto.Message) {
			text, err := (protojson.MarshalOptions{Resolver: types}).Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			fault := validator.Validate(m)
			if got := accepts(t, compiled, string(text)); got != (fault == nil) {
				t.Errorf("%s: the schema accepts: %v; the validator says: %v\n%s", fd.Name(), got, fault, text)
			}
			if fault == nil {
				good++
			} else {
				bad++
			}
		}
		cleared := proto.Clone(base).(*dynamicpb.Message)
		cleared.Clear(fd)
		try(cleared)
		if fd.IsList() || fd.IsMap() || fd.Message() != nil {
			continue
		}
		for _, v := range pool(fd) {
			m := proto.Clone(base).(*dynamicpb.Message)
			m.Set(fd, v)
			try(m)
		}
		if good > 0 && bad > 0 {
			both++
		}
	}
	if both < 45 {
		t.Errorf("only %d fields were both valid and invalid", both)
	}
}

// change clears a field or gives it a random value.
func change(t *rapid.T, m protoreflect.Message, fd protoreflect.FieldDescriptor) {
	if rapid.IntRange(0, 4).Draw(t, "clear") == 0 {
		m.Clear(fd)
		return
	}
	switch {
	case fd.IsMap():
		m.Clear(fd)
		for range rapid.IntRange(0, 3).Draw(t, "pairs") {
			key := scalar(t, fd.MapKey()).MapKey()
			m.Mutable(fd).Map().Set(key, scalar(t, fd.MapValue()))
		}
	case fd.IsList():
		m.Clear(fd)
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			m.Mutable(fd).List().Append(scalar(t, fd))
		}
	case fd.Message() != nil && fd.Message().FullName() == "google.protobuf.Any":
		any := m.NewField(fd).Message()
		url := rapid.SampledFrom([]string{"Empty", "Timestamp", ""}).Draw(t, "type")
		if url != "" {
			any.Set(any.Descriptor().Fields().ByName("type_url"), protoreflect.ValueOfString("type.googleapis.com/google.protobuf."+url))
		}
		m.Set(fd, protoreflect.ValueOfMessage(any))
	case fd.Message() != nil:
		sub := m.NewField(fd).Message()
		fields := fd.Message().Fields()
		for i := range fields.Len() {
			if rapid.Bool().Draw(t, "set") {
				sub.Set(fields.Get(i), scalar(t, fields.Get(i)))
			}
		}
		m.Set(fd, protoreflect.ValueOfMessage(sub))
	default:
		m.Set(fd, scalar(t, fd))
	}
}

// scalar is a value from the field's pool, or any.
func scalar(t *rapid.T, fd protoreflect.FieldDescriptor) protoreflect.Value {
	if rapid.Bool().Draw(t, "pooled") {
		return rapid.SampledFrom(pool(fd)).Draw(t, "value")
	}
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(rapid.StringMatching(`[ab.\]cB]{0,5}`).Draw(t, "text"))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(rapid.SliceOfN(rapid.Byte(), 0, 18).Draw(t, "bytes"))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(positiveZero(rapid.Float64().Draw(t, "double")))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(positiveZero(float64(rapid.Float32().Draw(t, "float")))))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64().Draw(t, "int64"))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(rapid.Uint64().Draw(t, "uint64"))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32().Draw(t, "int32"))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(rapid.Uint32().Draw(t, "uint32"))
	}
	return rapid.SampledFrom(pool(fd)).Draw(t, "value")
}

// positiveZero leaves out -0, which is 0 to JSON Schema but set to protobuf.
func positiveZero(x float64) float64 {
	if x == 0 {
		return 0
	}
	return x
}

// pool is values at and around the bounds of Ruled's rules.
func pool(fd protoreflect.FieldDescriptor) (out []protoreflect.Value) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return []protoreflect.Value{protoreflect.ValueOfBool(true), protoreflect.ValueOfBool(false)}
	case protoreflect.EnumKind:
		numbers := []protoreflect.EnumNumber{0, 1, 2, 5}
		if fd.Name() == "enum_defined" {
			numbers = append(numbers, 7)
		}
		for _, n := range numbers {
			out = append(out, protoreflect.ValueOfEnum(n))
		}
	case protoreflect.StringKind:
		for _, s := range []string{
			"", "a", "b", "ab", "abc", "abcd", "äö", "äöü", "Äöüß", "a.]", "a.b]", "ab]", "a]", "b.a", "xAb", "AXd", "axb", "a\nd", "a\rd", "a\u2028d",
			"a😀", "😀😀", "123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000",
			"a@b.example", "a@-b", "10.0.0.1", "256.0.0.1", "1.2.3", "X-Name", ":path", "X Name", strings.Repeat("a", 40),
		} {
			out = append(out, protoreflect.ValueOfString(s))
		}
	case protoreflect.BytesKind:
		for n := range 19 {
			out = append(out, protoreflect.ValueOfBytes([]byte(strings.Repeat("\xfb\xff?", 7)[:n])))
		}
		out = append(out, protoreflect.ValueOfBytes([]byte("a")), protoreflect.ValueOfBytes([]byte("bc")))
	case protoreflect.DoubleKind:
		for _, x := range []float64{0, 1, -1, -1.5, 2, 1.9999999, 2.5, 0.1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324} {
			out = append(out, protoreflect.ValueOfFloat64(x))
		}
	case protoreflect.FloatKind:
		for _, x := range []float32{0, 0.1, 2, math.Nextafter32(0.1, 1), math.Nextafter32(0.1, 0), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
			out = append(out, protoreflect.ValueOfFloat32(x))
		}
	default:
		for _, n := range integers {
			out = append(out, whole(fd.Kind(), n)...)
		}
	}
	return out
}

var integers = []int64{
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 19, 20, 21, 29, 30, 31, 99, 100, 101, 123, 124, 249, 250, 251, 999, 1000, 1001, 4566, 4567, 4568, 4999, 5000, 10000,
	-1, -2, -3, -4, -8, -9, -10, -11, -19, -20, -21, -99, -100, -101, -122, -123, -124, -200, -1000,
	math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64,
}

// whole is a number in a kind, if it fits.
func whole(kind protoreflect.Kind, n int64) []protoreflect.Value {
	switch kind {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return []protoreflect.Value{protoreflect.ValueOfInt64(n)}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return []protoreflect.Value{protoreflect.ValueOfUint64(uint64(n))}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return []protoreflect.Value{protoreflect.ValueOfUint32(uint32(n))}
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return nil
	}
	return []protoreflect.Value{protoreflect.ValueOfInt32(int32(n))}
}
