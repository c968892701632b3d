package schema_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	"github.com/mcpedge/mcpedge/edge/reflect/schema"
)

var (
	drawn     = flag.Int("drawn", 2_000, "messages that are drawn and held against protovalidate")
	drawnSeed = flag.Uint64("drawn-seed", 1, "seed of the messages that are drawn")
)

var oracle = reflecttest.Files(reflecttest.Oracle())

// Whatever protovalidate accepts, the schema does, in every shape of field and with every way to turn rules off.
func TestNoFalseRefusal(t *testing.T) {
	md := reflecttest.Message(oracle, "test.oracle.v1.Drawn")
	compiled := compile(t, schema.Input(md, limit.New(t.Context(), nil)))
	validator, err := protovalidate.New(protovalidate.WithDisableNativeRules()) // those panic on lists of wrappers
	if err != nil {
		t.Fatal(err)
	}
	d := &drawing{rand.New(rand.NewPCG(*drawnSeed, 0))} // #nosec G404 -- messages to try
	valid, refused, set := 0, 0, map[protoreflect.Name]int{}
	for n := range *drawn {
		m := dynamicpb.NewMessage(md)
		// One field in each message is drawn for sure, so that each is drawn alike, and others with it.
		fields := md.Fields()
		for i := range fields.Len() {
			if i == n%fields.Len() || d.IntN(fields.Len()) == 0 {
				d.field(m, fields.Get(i), 3)
			}
		}
		text, err := (protojson.MarshalOptions{Resolver: dynamicpb.NewTypes(oracle)}).Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if validator.Validate(m) != nil {
			if !accepts(t, compiled, string(text)) {
				refused++
			}
			continue
		}
		valid++
		m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			set[fd.Name()]++
			return true
		})
		if !accepts(t, compiled, string(text)) {
			t.Errorf("message %d is valid, and the schema refuses it: %s", n, text)
		}
	}
	for i := range md.Fields().Len() {
		if name := md.Fields().Get(i).Name(); set[name] == 0 {
			t.Errorf("no valid message had the field %s", name)
		}
	}
	if refused == 0 {
		t.Error("the schema refuses nothing")
	}
	t.Logf("%d of %d messages were valid, and the schema refused %d of the others", valid, *drawn, refused)
}

// Of a message beside a mask of what is to be updated, nothing must be there; of others, and of elements of lists, it must.
func TestMasks(t *testing.T) {
	for _, c := range []struct {
		message, json string
		want          bool
	}{
		{"UpdateRequest", `{"thing":{"displayName":"x"},"updateMask":"displayName","etag":"e"}`, true},
		{"UpdateRequest", `{"thing":{"place":{"number":1}},"updateMask":"place.number","etag":"e"}`, true},
		{"UpdateRequest", `{"thing":{},"updateMask":"*","etag":"e"}`, true},
		{"UpdateRequest", `{"thing":{},"updateMask":"display_name,size_2,place.*","etag":"e"}`, true},
		{"UpdateRequest", `{"thing":{},"updateMask":"display name","etag":"e"}`, false},
		{"UpdateRequest", `{"thing":{"size2":"x"},"updateMask":"size2","etag":"e"}`, false},
		{"UpdateRequest", `{"thing":{"red":"x","blue":"y"},"updateMask":"*","etag":"e"}`, false},
		{"UpdateRequest", `{"thing":{"places":[{}]},"updateMask":"places","etag":"e"}`, false},
		{"UpdateRequest", `{"thing":{"displayName":"x"},"updateMask":"displayName"}`, false},
		{"UpdateRequest", `{"updateMask":"displayName","etag":"e"}`, false},
		{"ReadRequest", `{"thing":{"displayName":"x"},"readMask":"displayName"}`, false},
		{"CreateRequest", `{"thing":{"displayName":"x"}}`, false},
		{"CreateRequest", `{"thing":{"name":"n","displayName":"x","red":"r"}}`, true},
	} {
		in := schema.Input(reflecttest.Message(oracle, protoreflect.FullName("test.oracle.v1."+c.message)), limit.New(t.Context(), nil))
		if got := accepts(t, compile(t, in), c.json); got != c.want {
			t.Errorf("%s: %s: accepted is %v, want %v", c.message, c.json, got, c.want)
		}
	}
}

// drawing draws values.
type drawing struct{ *rand.Rand }

// field draws a field; deep is how many messages more may nest.
func (d *drawing) field(m protoreflect.Message, fd protoreflect.FieldDescriptor, deep int) {
	switch {
	case fd.IsMap():
		for range d.IntN(3) {
			m.Mutable(fd).Map().Set(d.value(fd.MapKey(), nil, deep).MapKey(), d.value(fd.MapValue(), m.NewField(fd).Map().NewValue, deep))
		}
	case fd.IsList():
		for range d.IntN(4) {
			m.Mutable(fd).List().Append(d.value(fd, m.NewField(fd).List().NewElement, deep))
		}
	default:
		m.Set(fd, d.value(fd, func() protoreflect.Value { return m.NewField(fd) }, deep))
	}
}

// value draws one value; fresh makes a message of its type.
func (d *drawing) value(fd protoreflect.FieldDescriptor, fresh func() protoreflect.Value, deep int) protoreflect.Value {
	if fd.Message() == nil {
		return d.scalar(fd)
	}
	v := fresh()
	m := v.Message()
	set := func(name protoreflect.Name, v protoreflect.Value) { m.Set(m.Descriptor().Fields().ByName(name), v) }
	switch m.Descriptor().FullName() {
	case "google.protobuf.Any":
		if d.IntN(2) == 0 {
			set("type_url", protoreflect.ValueOfString("type.googleapis.com/google.protobuf."+pick(d, "Empty", "Timestamp")))
		}
	case "google.protobuf.Timestamp", "google.protobuf.Duration":
		seconds := pick[int64](d, 0, -1, 1, 8, 9, 1e9)
		set("seconds", protoreflect.ValueOfInt64(seconds))
		if seconds >= 0 {
			set("nanos", protoreflect.ValueOfInt32(pick[int32](d, 0, 5, 999_999_999)))
		}
	case "google.protobuf.FieldMask":
		for range d.IntN(3) {
			m.Mutable(m.Descriptor().Fields().ByName("paths")).List().Append(protoreflect.ValueOfString(pick(d, "a", "a_b.c", "list")))
		}
	case "google.protobuf.Value":
		d.field(m, m.Descriptor().Fields().ByName(pick[protoreflect.Name](d, "null_value", "string_value", "bool_value")), deep)
	case "test.oracle.v1.Inner":
		if d.IntN(2) == 0 { // by chance alone next to none keeps all its rules
			if err := protojson.Unmarshal([]byte(`{"name":"ab","numbers":[1],"one":"x","text":""}`), m.Interface()); err != nil {
				panic(err)
			}
			return v
		}
		fallthrough
	default:
		fields := m.Descriptor().Fields()
		for i := range fields.Len() {
			if fd := fields.Get(i); (deep > 0 || fd.Message() == nil) && d.IntN(3) > 0 {
				d.field(m, fd, deep-1)
			}
		}
	}
	return v
}

func pick[T any](d *drawing, from ...T) T { return from[d.IntN(len(from))] }

// scalar draws from what is at the bounds of the rules and of the kinds.
func (d *drawing) scalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(pick(d, "", "a", "ab", "abc", "abcd", "äö", "😀", "aaaaaa", "ABC1", "x y", "X-Name", ":path", "a\tb",
			"example.com", "example.com:80", "https://example.com/a?b#c", "/a/b", "10.0.0.1", "10.0.0.0/8", "10.0.0.1/16", "::1", "fe80::1%eth0", "2001:db8::/32",
			"a@b.example", "123e4567e89b12d3a456426614174000"))
	case protoreflect.BytesKind:
		b := make([]byte, pick(d, 0, 1, 2, 3, 4, 5, 16, 699, 700, 701))
		for i := range b {
			b[i] = byte(d.Uint32())
		}
		return protoreflect.ValueOfBytes(b)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(pick[protoreflect.EnumNumber](d, 0, 1, 2)) // those with a name
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(d.IntN(2) == 0)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(pick(d, 0, 1, -2, 2.999, 3, 0.1, 5e-324, math.Inf(1), math.NaN()))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(pick[float32](d, 0, -0.1, math.Nextafter32(-0.1, 0), 0.1, 0.3, math.Nextafter32(0.3, 0), 1e38))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(pick[uint64](d, 0, 1, math.MaxInt64, math.MaxInt64+1, math.MaxUint64))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(pick[int64](d, 0, 1, -1, 4, 5, 6, 1<<53, 1<<53+1, 1<<53+2, -(1<<53 + 1), math.MinInt64))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(pick[uint32](d, 0, 1, math.MaxUint32))
	}
	return protoreflect.ValueOfInt32(pick[int32](d, 0, 1, -1, 3, 4, 5, 6, 100, 101, math.MaxInt32, math.MinInt32))
}
