package reflect

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
)

// heavy has messages whose encoding is small.
var heavy = func() string {
	var b strings.Builder
	b.WriteString("syntax = \"proto3\";\npackage heavy;\nimport \"google/protobuf/any.proto\";\nmessage Wide {\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "string %s_%d = %d;\n", strings.Repeat("x", 80), i, i+1)
	}
	fmt.Fprintf(&b, "}\nenum E { NONE = 0; %s = 1; }\n", strings.Repeat("E", 400))
	b.WriteString(`message Node { repeated Node nodes = 1; }
message Out {
  repeated Wide rows = 1; repeated E es = 2; repeated Node nodes = 3; google.protobuf.Any any = 4; repeated bool flags = 5; map<string, Wide> by = 6; string text = 7;
}
`)
	return b.String()
}()

// TestAnswersAreWeighed: an answer of few bytes that would be many as a message or as JSON is not decoded; others are.
func TestAnswersAreWeighed(t *testing.T) {
	files := reflecttest.Files(reflecttest.Compile(map[string]string{"heavy.proto": heavy}))
	types := resolver{dynamicpb.NewTypes(files)}
	out := reflecttest.Message(files, "heavy.Out")
	bytesOf := func(number protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
	}
	anyOf := func(levels int) (raw []byte) {
		for range levels {
			raw = append(bytesOf(1, []byte("type.googleapis.com/google.protobuf.Any")), bytesOf(2, raw)...)
		}
		return raw
	}
	deep := func(levels int) (raw []byte) {
		for range levels {
			raw = bytesOf(1, raw)
		}
		return raw
	}
	repeat := func(one []byte, n int) []byte { return []byte(strings.Repeat(string(one), n)) }
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"rows":             {repeat(bytesOf(1, nil), 4000), "as JSON, with its default values"},
		"rows of a map":    {repeat(bytesOf(6, bytesOf(1, []byte("k"))), 1_000_000), "bytes of memory"},
		"few rows":         {repeat(bytesOf(1, nil), 100), ""},
		"names of enums":   {bytesOf(2, repeat([]byte{1}, 200_000)), "as JSON, with its default values"},
		"unpacked enums":   {repeat([]byte{2 << 3, 1}, 200_000), "as JSON, with its default values"},
		"few enums":        {bytesOf(2, repeat([]byte{1}, 1000)), ""},
		"nodes":            {repeat(bytesOf(3, nil), 1_000_000), "bytes of memory"},
		"few nodes":        {repeat(bytesOf(3, nil), 50_000), ""},
		"flags":            {bytesOf(5, repeat([]byte{1}, 8_000_000)), "bytes of memory"},
		"few flags":        {bytesOf(5, repeat([]byte{1}, 100_000)), ""},
		"depth":            {bytesOf(3, deep(500)), "nests messages more than 128 deep"},
		"less depth":       {bytesOf(3, deep(50)), ""},
		"any in any":       {bytesOf(4, anyOf(20)), "nests google.protobuf.Any more than 8 deep"},
		"less any in any":  {bytesOf(4, anyOf(5)), ""},
		"a long text":      {bytesOf(7, repeat([]byte("x"), 10<<20)), ""},
		"a text too long":  {bytesOf(7, repeat([]byte("x"), 40<<20)), "as JSON, with its default values"},
		"unknown fields":   {repeat(bytesOf(99, repeat([]byte("x"), 1<<20)), 80), "bytes of memory"},
		"nothing":          {nil, ""},
		"no encoding":      {[]byte{0xff}, ""},
		"an open length":   {[]byte{7<<3 | 2, 200}, ""},
		"types not agreed": {[]byte{1 << 3, 5, 7<<3 | 5, 1, 2, 3, 4}, ""},
	} {
		s := &scale{types: types, most: DefaultMaxBytes, bases: map[protoreflect.FullName]int{}}
		err := s.message(out, c.raw, 0)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %d bytes: %v, want %q", name, len(c.raw), err, c.want)
		}
		if err != nil || c.want != "" {
			continue
		}
		m := dynamicpb.NewMessage(out)
		if proto.Unmarshal(c.raw, m) != nil {
			continue
		}
		text, err := protojson.MarshalOptions{EmitDefaultValues: true, Resolver: types}.Marshal(m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(text); s.json > n+n/2+150 || s.json < n/2 {
			t.Errorf("%s: estimated as %d bytes of JSON, it has %d", name, s.json, n)
		}
	}
}

// TestNamesAreNotLookedForWhereTheyAreNone: what a caller or a service gives as a name, and is none or longer than names may be, is in no registry, and
// is not looked for in one. The resolver has none here.
func TestNamesAreNotLookedForWhereTheyAreNone(t *testing.T) {
	for _, name := range []string{strings.Repeat("x.", 400) + "x", "", ".", "x..y", "x.", "1x", "x y"} {
		for where, find := range map[string]func() error{
			"a type":     func() error { _, err := resolver{}.FindMessageByURL("type.googleapis.com/" + name); return err },
			"a message":  func() error { _, err := resolver{}.FindMessageByName(protoreflect.FullName(name)); return err },
			"extensions": func() error { _, err := resolver{}.FindExtensionByName(protoreflect.FullName(name)); return err },
			"what is known": func() error {
				_, err := knownTypes{}.FindMessageByURL("type.googleapis.com/" + name)
				return err
			},
			"a call": func() error {
				_, err := (&callTypes{any: &anyTypes{}, a: &Adapter{}}).FindMessageByURL("type.googleapis.com/" + name)
				return err
			},
		} {
			if err := find(); !errors.Is(err, protoregistry.NotFound) {
				t.Errorf("%s, %.20q: %v", where, name, err)
			}
		}
	}
}
