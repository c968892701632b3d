package reflect_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// uncommented is a set as most servers have it: without what stands in the source beside the declarations.
func uncommented(set *descriptorpb.FileDescriptorSet) *descriptorpb.FileDescriptorSet {
	set = proto.Clone(set).(*descriptorpb.FileDescriptorSet)
	for _, fd := range set.GetFile() {
		fd.SourceCodeInfo = nil
	}
	return set
}

// abouts are the descriptions of a schema's properties.
func abouts(t *testing.T, schema string) map[string]string {
	t.Helper()
	var read struct {
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal([]byte(schema), &read); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, p := range read.Properties {
		out[name] = p.Description
	}
	return out
}

// A field's option describes it where reflection has no comments, and wins where a descriptor set has some.
func TestFieldsAreDescribed(t *testing.T) {
	bare := uncommented(kinds)
	s := reflecttest.Serve(t, bare, reflecttest.Answer, reflecttest.Options{})
	commented, err := proto.Marshal(kinds)
	if err != nil {
		t.Fatal(err)
	}
	both := map[string]string{
		"reason": "Why it goes, in words.", "leaves": "What hangs on it.", "named": "The same by name.",
		"time": "Kept till then.", "days": "Kept so long.",
	}
	for name, c := range map[string]struct {
		opts      reflect.Options
		id, color string
	}{
		"by reflection": {reflect.Options{}, "", "How it was painted."},
		"by a descriptor set": {
			reflect.Options{DescriptorSet: func() ([]byte, error) { return commented, nil }},
			"The thing's id.", "How it was painted.\nColor of a thing.\nCOLOR_UNSPECIFIED: Not said.\nCOLOR_RED: Like blood.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, s.Addr, c.opts)
			tool := e.list()["opt_peek"]
			got := abouts(t, tool.GetInputSchemaJson())
			if got["id"] != c.id || got["color"] != c.color {
				t.Errorf("id %q, color %q", got["id"], got["color"])
			}
			for field, want := range both {
				if got[field] != want {
					t.Errorf("%s: %q, want %q", field, got[field], want)
				}
			}
			if got := abouts(t, tool.GetOutputSchemaJson())["id"]; got != "What went." {
				t.Errorf("the result's id: %q", got)
			}
			for _, note := range e.adapter.Notes() {
				if strings.Contains(note, "51733") {
					t.Errorf("a note on what can be read: %s", note)
				}
			}
		})
	}
}

// Another organization may use the numbers of this project's options for its own: its services are served
// all the same, and their texts are shown to no client.
func TestOptionsOfOthersUnderTheSameNumbers(t *testing.T) {
	for kind, c := range map[string]struct{ declared, value string }{
		"text":    {"string column", `(acme.column) = "col_x"`},
		"number":  {"int64 column", `(acme.column) = 7`},
		"message": {"Column column", `(acme.column).name = "col_x"`},
	} {
		t.Run(kind, func(t *testing.T) {
			set := reflecttest.Compile(map[string]string{
				"acme/options.proto": `syntax = "proto3"; package acme;
					import "google/protobuf/descriptor.proto";
					message Column { string name = 1; }
					extend google.protobuf.FieldOptions { ` + c.declared + ` = 51732; }`,
				"acme/shop.proto": `syntax = "proto3"; package acme;
					import "acme/options.proto";
					message Thing { string x = 1 [` + c.value + `]; }
					service Shop { rpc Buy(Thing) returns (Thing); }`,
			})
			renumber(t, set, 51732, 51733)
			e := newEdge(t, reflecttest.Serve(t, set, reflecttest.Answer, reflecttest.Options{}).Addr, reflect.Options{})
			tool := e.list()["shop_buy"]
			if tool == nil {
				t.Fatalf("tools: %q, notes %q", e.names(), e.adapter.Notes())
			}
			if got := abouts(t, tool.GetInputSchemaJson()); got["x"] != "" {
				t.Errorf("x is described by another's option: %q", got["x"])
			}
			want := "the option acme.column has the number 51733 of mcpedge.options.v1.field, which is not read"
			if !slices.Contains(e.adapter.Notes(), want) {
				t.Errorf("notes: %q", e.adapter.Notes())
			}
		})
	}
}

// renumber gives the extensions of a set another number, and the options of fields likewise. A set cannot be
// compiled with it, since this program knows whose number it is.
func renumber(t *testing.T, set *descriptorpb.FileDescriptorSet, from, to int32) {
	t.Helper()
	done := 0
	for _, fd := range set.GetFile() {
		for _, x := range fd.GetExtension() {
			if x.GetNumber() == from {
				x.Number = &to
				done++
			}
		}
		for _, m := range fd.GetMessageType() {
			for _, f := range m.GetField() {
				raw := f.GetOptions().ProtoReflect().GetUnknown()
				n, kind, size := protowire.ConsumeTag(raw)
				if size > 0 && n == protowire.Number(from) {
					tag := protowire.AppendTag(nil, protowire.Number(to), kind)
					f.GetOptions().ProtoReflect().SetUnknown(append(tag, raw[size:]...))
					done++
				}
			}
		}
	}
	if done != 2 {
		t.Fatalf("%d places have the number %d", done, from)
	}
}

// An option without a declaration that is not this project's is named, and the tools are served.
func TestAnOptionThatCannotBeRead(t *testing.T) {
	for kind, raw := range map[string][]byte{
		"text":   protowire.AppendString(protowire.AppendTag(nil, 51733, protowire.BytesType), "hello"),
		"number": protowire.AppendVarint(protowire.AppendTag(nil, 51733, protowire.VarintType), 7),
	} {
		t.Run(kind, func(t *testing.T) {
			set := reflecttest.Compile(map[string]string{"shop.proto": `syntax = "proto3"; package acme;
				message Thing { string x = 1 [deprecated = true]; }
				service Shop { rpc Buy(Thing) returns (Thing) { option deprecated = false; } option deprecated = false; }`})
			fd := set.GetFile()[len(set.GetFile())-1]
			fd.Dependency = append(fd.Dependency, "mcpedge/options/v1/options.proto")
			fd.GetMessageType()[0].GetField()[0].GetOptions().ProtoReflect().SetUnknown(raw)
			fd.GetService()[0].GetOptions().ProtoReflect().SetUnknown(raw)
			fd.GetService()[0].GetMethod()[0].GetOptions().ProtoReflect().SetUnknown(raw)
			descriptors, err := proto.Marshal(set)
			if err != nil {
				t.Fatal(err)
			}
			s := reflecttest.Serve(t, kinds, reflecttest.Answer, reflecttest.Options{Mute: true})
			e := newEdge(t, s.Addr, reflect.Options{DescriptorSet: func() ([]byte, error) { return descriptors, nil }})
			if got := e.names(); !slices.Equal(got, []string{"shop_buy"}) {
				t.Fatalf("tools: %q", got)
			}
			for _, what := range []string{
				"option 51733 of acme.Shop is not mcpedge.options.v1.service",
				"option 51733 of acme.Shop.Buy is not mcpedge.options.v1.tool",
				"tool shop_buy: option 51733 of acme.Thing.x is not mcpedge.options.v1.field",
			} {
				if !slices.ContainsFunc(e.adapter.Notes(), func(n string) bool {
					return strings.HasPrefix(n, what) && strings.HasSuffix(n, ", and is not used")
				}) {
					t.Errorf("no note %q in %q", what, e.adapter.Notes())
				}
			}
		})
	}
}

// An option that is set in parts is one, as protobuf merges it.
func TestAnOptionInParts(t *testing.T) {
	set := reflecttest.Compile(map[string]string{"shop.proto": `syntax = "proto3"; package acme;
		message Thing {}
		service Shop { rpc Buy(Thing) returns (Thing) { option deprecated = false; } }`})
	part := func(text string) []byte {
		var raw []byte
		switch text {
		case "name":
			raw = protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "buy")
		case "title":
			raw = protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), "Buy it")
		}
		return protowire.AppendBytes(protowire.AppendTag(nil, 51733, protowire.BytesType), raw)
	}
	fd := set.GetFile()[len(set.GetFile())-1]
	fd.Dependency = append(fd.Dependency, "mcpedge/options/v1/options.proto")
	fd.GetService()[0].GetMethod()[0].GetOptions().ProtoReflect().SetUnknown(append(part("name"), part("title")...))
	descriptors, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	s := reflecttest.Serve(t, kinds, reflecttest.Answer, reflecttest.Options{Mute: true})
	e := newEdge(t, s.Addr, reflect.Options{DescriptorSet: func() ([]byte, error) { return descriptors, nil }})
	res, err := e.tools.ListTools(t.Context(), &pb.ListToolsRequest{})
	if err != nil || len(res.GetTools()) != 1 || res.GetTools()[0].GetName() != "buy" || res.GetTools()[0].GetTitle() != "Buy it" {
		t.Errorf("%v, %v", res, err)
	}
}

// An option with this project's number in a file that does not import its options has another owner: it names no
// tool, even where the file that declares it is not served.
func TestAnOptionOfAFileThatIsNotServed(t *testing.T) {
	set := reflecttest.Compile(map[string]string{"shop.proto": `syntax = "proto3"; package acme;
		message Thing {}
		service Shop { rpc Buy(Thing) returns (Thing) { option deprecated = false; } }`})
	fd := set.GetFile()[len(set.GetFile())-1]
	fd.Dependency = append(fd.Dependency, "acme/options.proto")
	value := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "billing")
	fd.GetService()[0].GetMethod()[0].GetOptions().ProtoReflect().SetUnknown(
		protowire.AppendBytes(protowire.AppendTag(nil, 51733, protowire.BytesType), value))
	descriptors, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	s := reflecttest.Serve(t, kinds, reflecttest.Answer, reflecttest.Options{Mute: true})
	e := newEdge(t, s.Addr, reflect.Options{DescriptorSet: func() ([]byte, error) { return descriptors, nil }})
	if got := e.names(); !slices.Equal(got, []string{"shop_buy"}) {
		t.Errorf("tools: %q", got)
	}
	if notes := strings.Join(e.adapter.Notes(), "\n"); !strings.Contains(notes, "shop.proto does not import mcpedge/options/v1/options.proto: its options 51733 of MethodOptions") {
		t.Errorf("notes: %q", notes)
	}
}
