package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	"github.com/mcpedge/mcpedge/edge/reflect/schema"
	edgeschema "github.com/mcpedge/mcpedge/edge/schema"
)

var files = reflecttest.Files(reflecttest.Kinds())

func message(name string) protoreflect.MessageDescriptor {
	if !strings.HasPrefix(name, "google.") && !strings.HasPrefix(name, "test.") {
		name = "test.kinds.v1." + name
	}
	return reflecttest.Message(files, protoreflect.FullName(name))
}

// compile checks a schema against the meta-schema of 2020-12 and compiles it.
func compile(t testing.TB, s schema.Schema) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(s.JSON))
	if err != nil {
		t.Fatalf("%v in %s", err, s.JSON)
	}
	c := jsonschema.NewCompiler()
	meta, err := c.Compile("https://json-schema.org/draft/2020-12/schema")
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.Validate(doc); err != nil {
		t.Fatalf("no valid schema: %v\n%s", err, s.JSON)
	}
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("schema:test", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema:test")
	if err != nil {
		t.Fatalf("%v in %s", err, s.JSON)
	}
	return compiled
}

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func accepts(t failer, s *jsonschema.Schema, text string) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return s.Validate(doc) == nil
}

// Every message of every file that is linked here, protobuf's own and protovalidate's among them, has two
// valid schemas with an object at the root.
func TestEverySchemaIsValid(t *testing.T) {
	n := 0
	var visit func(list protoreflect.MessageDescriptors)
	visit = func(list protoreflect.MessageDescriptors) {
		for i := range list.Len() {
			md := list.Get(i)
			if md.IsMapEntry() {
				continue
			}
			for _, s := range []schema.Schema{schema.Input(md, limit.New(t.Context(), nil)), schema.Output(md, limit.New(t.Context(), nil))} {
				compile(t, s)
				var root struct{ Type string }
				if err := json.Unmarshal([]byte(s.JSON), &root); err != nil || root.Type != "object" {
					t.Errorf("%s: root %q, %v", md.FullName(), root.Type, err)
				}
			}
			n++
			visit(md.Messages())
		}
	}
	files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		visit(fd.Messages())
		return true
	})
	if n < 50 {
		t.Errorf("only %d messages were tried", n)
	}
}

func TestWhatInputsTake(t *testing.T) {
	for _, c := range []struct {
		message, json string
		want          bool
	}{
		{"Kinds", `{}`, true},
		{"Kinds", `{"int64Field":"-9","uint64Field":9,"doubleField":"NaN","floatField":1e3,"bytesField":"_-8","enumField":"COLOR_RED"}`, true},
		{"Kinds", `{"nothing":1}`, false},
		{"Kinds", `{"int32Field":2147483648}`, false},
		{"Kinds", `{"int32Field":1.5}`, false},
		{"Kinds", `{"uint32Field":-1}`, false},
		{"Kinds", `{"int64Field":"1.5"}`, false},
		{"Kinds", `{"uint64Field":"-1"}`, false},
		{"Kinds", `{"doubleField":"x"}`, false},
		{"Kinds", `{"enumField":"RED"}`, false},
		{"Kinds", `{"bytesField":"*"}`, false},
		{"Kinds", `{"messageField":{"name":"x"},"leaves":[{}],"texts":{"a":"b"},"byInt32":{"-1":{}},"byBool":{"true":""}}`, true},
		{"Kinds", `{"leaves":[{"nam":"x"}]}`, false},
		{"Kinds", `{"byInt32":{"x":{}}}`, false},
		{"Kinds", `{"byUint64":{"-1":1}}`, false},
		{"Kinds", `{"byBool":{"yes":""}}`, false},
		{"Kinds", `{"texts":{"a":1}}`, false},
		{"Kinds", `{"chosenText":"a"}`, true},
		{"Kinds", `{"chosenText":"a","chosenNumber":"1"}`, false},
		{"Kinds", `{"calledOtherwise":"x"}`, true},
		{"Kinds", `{"renamed":"x"}`, false},
		{"Tree", `{"label":"a","left":{"left":{"children":[{"branches":{"b":{"tree":{"label":"c"},"leaf":{}}}}]}}}`, true},
		{"Tree", `{"left":{"left":{"children":[{"branches":{"b":{"tree":{"labl":"c"}}}}]}}}`, false},
		{"Special", `{"timestamp":"2024-01-02T03:04:05Z","duration":"1.5s","mask":"a.b,cD","struct":{"a":[1]},"value":null,"list":[1,"x"]}`, true},
		{"Special", `{"any":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"},"empty":{},"null":null}`, true},
		{"Special", `{"boolValue":true,"int64Value":"1","uint64Value":1,"floatValue":1,"stringValue":"x","bytesValue":"YQ=="}`, true},
		{"Special", `{"duration":"1"}`, false},
		{"Special", `{"struct":[]}`, false},
		{"Special", `{"list":{}}`, false},
		{"Special", `{"empty":{"a":1}}`, false},
		{"Special", `{"boolValue":"true"}`, false},
		{"DeleteRequest", `{}`, false},
		{"DeleteRequest", `{"id":"x"}`, true},
		{"google.protobuf.Timestamp", `{"value":"2024-01-02T03:04:05Z"}`, true},
		{"google.protobuf.Timestamp", `{}`, false},
		{"google.protobuf.Empty", `{}`, true},
		{"google.protobuf.Empty", `{"a":1}`, false},
		{"google.protobuf.Struct", `{"a":1}`, true},
		{"test.legacy.v1.Old", `{"name":"x","count":1,"shade":"DARK","part":{"text":"y"},"[test.legacy.v1.more]":"z"}`, true},
		{"test.legacy.v1.Old", `{"count":1}`, false},
	} {
		if got := accepts(t, compile(t, schema.Input(message(c.message), limit.New(t.Context(), nil))), c.json); got != c.want {
			t.Errorf("%s: %s: accepted is %v, want %v", c.message, c.json, got, c.want)
		}
		if c.want && !schema.Wrapped(message(c.message)) {
			types := dynamicpb.NewTypes(files)
			m := dynamicpb.NewMessage(message(c.message))
			if err := (protojson.UnmarshalOptions{Resolver: types}).Unmarshal([]byte(c.json), m); err != nil {
				t.Errorf("%s: %s: protojson: %v", c.message, c.json, err)
			}
		}
	}
}

func TestDescriptions(t *testing.T) {
	in, out := schema.Input(message("DeleteRequest"), limit.New(t.Context(), nil)).JSON, schema.Output(message("DeleteRequest"), limit.New(t.Context(), nil)).JSON
	for _, want := range []string{
		`"id":{"description":"The thing's id.","type":"string"}`,
		`"etag":{"type":"string","readOnly":true}`,
		`"owner":{"description":"Cannot be changed once it is set.","type":"string","deprecated":true}`,
		`"reason":{"description":"Why it goes, in words.","type":"string"}`,
		`"leaves":{"description":"What hangs on it.","type":"array"`,
		`"required":["id"],"additionalProperties":false`,
	} {
		if !strings.Contains(in, want) {
			t.Errorf("input lacks %s: %s", want, in)
		}
	}
	if !strings.Contains(out, `"secret":{"type":"string","writeOnly":true}`) || strings.Contains(out, `"additionalProperties":false`) {
		t.Errorf("output: %s", out)
	}
	kinds := schema.Input(message("Kinds"), limit.New(t.Context(), nil)).JSON
	if want := `"enumField":{"description":"Color of a thing.\nCOLOR_UNSPECIFIED: Not said.\nCOLOR_RED: Like blood.","type":"string","enum":["COLOR_UNSPECIFIED","COLOR_RED","COLOR_GREEN","COLOR_BLUE"]}`; !strings.Contains(kinds, want) {
		t.Errorf("%s", kinds)
	}
	if want := `"leaves":{"type":"array","items":{"$ref":"#/$defs/test.kinds.v1.Leaf"}}`; !strings.Contains(kinds, want) {
		t.Errorf("%s", kinds)
	}
	if strings.Contains(schema.Comment(files2(t, "test.kinds.v1.KindService.Echo")), "readers") {
		t.Error("a remark for authors is shown")
	}
}

func files2(t *testing.T, name protoreflect.FullName) protoreflect.Descriptor {
	t.Helper()
	d, err := files.FindDescriptorByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Rules that a schema cannot express are noted, each with its field.
func TestWhatCannotBeHeldIsNoted(t *testing.T) {
	notes := schema.Input(message("Beyond"), limit.New(t.Context(), nil)).Notes
	for _, want := range []string{
		"message test.kinds.v1.Beyond: the CEL rule beyond.order (low comes first) is not in the schema",
		"field test.kinds.v1.Beyond.high: the CEL rule beyond.even is not in the schema",
		"field test.kinds.v1.Beyond.odd: the CEL rule this != 'x' is not in the schema",
		"field test.kinds.v1.Beyond.host: the rule hostname is in the schema only as a format, which is not checked",
		"field test.kinds.v1.Beyond.sized: the rule max_bytes is in the schema only as far as characters, of up to four bytes, can count bytes",
		"field test.kinds.v1.Beyond.lines: the rule String.pattern is not in the schema",
		"field test.kinds.v1.Beyond.past: the rule Timestamp.lt_now is not in the schema",
		"field test.kinds.v1.Beyond.short: the rule Duration.lt is not in the schema",
		"field test.kinds.v1.Beyond.lead: the rule Bytes.prefix is not in the schema",
	} {
		if !slices.Contains(notes, want) {
			t.Errorf("no note %q", want)
		}
	}
	if len(notes) != 9 {
		t.Errorf("%d notes: %q", len(notes), notes)
	}
	if notes := schema.Input(message("Ruled"), limit.New(t.Context(), nil)).Notes; len(notes) > 0 {
		t.Errorf("notes about what is held: %q", notes)
	}
	if notes := schema.Output(message("Beyond"), limit.New(t.Context(), nil)).Notes; len(notes) > 0 {
		t.Errorf("notes about an output: %q", notes)
	}
}

// wide is a message with messages to a depth of levels, each of 20 fields, of which no two are equal.
func wide(t *testing.T, levels int) protoreflect.MessageDescriptor {
	t.Helper()
	var nested func(name string, level int) *descriptorpb.DescriptorProto
	nested = func(name string, level int) *descriptorpb.DescriptorProto {
		d := &descriptorpb.DescriptorProto{Name: proto.String(name)}
		for i := range int32(20) {
			f := &descriptorpb.FieldDescriptorProto{
				Name: proto.String(fmt.Sprint("f", i)), Number: proto.Int32(i + 1), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			}
			if level < levels {
				sub := nested(fmt.Sprint(name, i, "x"), level+1)
				d.NestedType = append(d.NestedType, sub)
				f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), sub.Name
			}
			d.Field = append(d.Field, f)
		}
		return d
	}
	fd, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("wide.proto"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{nested("M", 0)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fd.Messages().Get(0)
}

// A schema that would be larger than the edge compiles describes fewer of the messages within it, and says which.
func TestLargeSchemasAreCutByDepth(t *testing.T) {
	for _, c := range []struct {
		levels int
		note   string
	}{
		{1, ""},
		{2, "messages nested more than 1 deep are not described, since with them it has "},
		{3, "messages nested more than 1 deep are not described, since with them it has "},
	} {
		md := wide(t, c.levels)
		for name, s := range map[string]schema.Schema{
			"input": schema.Input(md, limit.New(t.Context(), nil)), "output": schema.Output(md, limit.New(t.Context(), nil)),
		} {
			t.Run(fmt.Sprint(c.levels, " ", name), func(t *testing.T) {
				if _, err := edgeschema.Compile(s.JSON); err != nil {
					t.Errorf("the edge cannot compile it: %v", err)
				}
				if notes := strings.Join(s.Notes, "; "); !strings.HasPrefix(notes, c.note) || c.note == "" && notes != "" {
					t.Errorf("notes: %q, want %q", notes, c.note)
				}
				compiled := compile(t, s)
				if accepts(t, compiled, `{"f0":1}`) {
					t.Error("a member of the message itself is not described")
				}
				if accepts(t, compiled, `{"f0":{"f0":1}}`) {
					t.Error("a member of the messages in it is not described")
				}
				if name == "input" && c.levels > 1 && !accepts(t, compiled, `{"f0":{"f0":{"anything":1}}}`) {
					t.Error("a message that is not described refuses members")
				}
			})
		}
	}
}
