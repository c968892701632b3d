package reflect_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
)

// foreign is a service whose messages hold what files declare that it does not import.
func foreign() *descriptorpb.FileDescriptorSet {
	return reflecttest.Compile(map[string]string{
		"box.proto": `syntax = "proto2"; package box.v1; import "google/protobuf/any.proto";
message Box { optional string id = 1; optional google.protobuf.Any content = 2; extensions 100 to 200; }
service BoxService { rpc Open(Box) returns (Box); rpc Fail(Box) returns (Box); rpc Each(Box) returns (stream Box); }`,
		"toys.proto": `syntax = "proto3"; package toys.v1; message Toy { string name = 1; Part part = 2; } message Part { int32 size = 1; }`,
		"label.proto": `syntax = "proto2"; package label.v1; import "box.proto";
message Label { optional string text = 1; } extend box.v1.Box { optional Label label = 120; repeated string tags = 121; }`,
	})
}

// toy answers with a toy in the box, with labels on it, as a message, a stream, or a failure's detail.
func toy(files *descriptorpb.FileDescriptorSet) reflecttest.Handler {
	toys := reflecttest.Files(files)
	return func(_ context.Context, method protoreflect.MethodDescriptor, in *dynamicpb.Message, send func(*dynamicpb.Message) error) error {
		d, err := toys.FindDescriptorByName("toys.v1.Toy")
		if err != nil {
			return err
		}
		m := dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
		m.Set(m.Descriptor().Fields().ByName("name"), protoreflect.ValueOfString("bear"))
		raw, err := proto.Marshal(m)
		if err != nil {
			return err
		}
		content := &anypb.Any{TypeUrl: "type.googleapis.com/toys.v1.Toy", Value: raw}
		if method.Name() == "Fail" {
			st, err := status.New(codes.FailedPrecondition, "closed").WithDetails(&errdetails.Help{}, content)
			if err != nil {
				return err
			}
			p := st.Proto()
			p.Details[1] = content
			return status.ErrorProto(p)
		}
		box := method.Output().Fields()
		out := dynamicpb.NewMessage(method.Output())
		out.Set(box.ByName("id"), in.Get(method.Input().Fields().ByName("id")))
		value, err := proto.Marshal(content)
		if err != nil {
			return err
		}
		inside := out.Mutable(box.ByName("content")).Message()
		if err := proto.Unmarshal(value, inside.Interface()); err != nil {
			return err
		}
		extensions := dynamicpb.NewTypes(toys)
		label, err := extensions.FindExtensionByName("label.v1.label")
		if err != nil {
			return err
		}
		said := out.Mutable(label.TypeDescriptor()).Message()
		said.Set(said.Descriptor().Fields().ByName("text"), protoreflect.ValueOfString("fragile"))
		return send(out)
	}
}

// What an Any holds and the extensions of proto2 are described by files that the service does not import: they are in
// answers, streams, the details of errors, and arguments.
func TestWhatIsNotImported(t *testing.T) {
	set := foreign()
	s := reflecttest.Serve(t, set, toy(set), reflecttest.Options{})
	e := newEdge(t, s.Addr, reflect.Options{})
	if want := []string{"box_each", "box_fail", "box_open"}; !slices.Equal(e.names(), want) {
		t.Fatalf("tools %q", e.names())
	}
	const (
		args    = `{"id":"1","content":{"@type":"type.googleapis.com/toys.v1.Toy","name":"doll","part":{"size":2}},"[label.v1.label]":{"text":"ours"}}`
		content = `"content":{"@type":"type.googleapis.com/toys.v1.Toy","name":"bear"}`
		label   = `"[label.v1.label]":{"text":"fragile"}`
	)
	for _, tool := range []string{"box_open", "box_each"} {
		a := e.call(tool, args)
		got := a.result.GetStructuredContentJson()
		if a.err != nil || a.result.GetIsError() || !strings.Contains(got, content) || !strings.Contains(got, label) {
			t.Errorf("%s: %v, %s%s", tool, a.err, got, a.text())
			continue
		}
		if err := fits(t, e.list()[tool].GetOutputSchemaJson(), got); err != nil {
			t.Errorf("%s does not fit: %v", tool, err)
		}
	}
	if a := e.call("box_fail", args); !a.result.GetIsError() || !strings.Contains(a.text(), `{"@type":"type.googleapis.com/toys.v1.Toy","name":"bear"}`) {
		t.Errorf("an error: %v, %s", a.err, a.text())
	}
	if a := e.call("box_open", `{"content":{"@type":"type.googleapis.com/toys.v1.Gone"}}`); !a.result.GetIsError() || !strings.Contains(a.text(), "toys.v1.Gone") {
		t.Errorf("a type that is not known: %v, %s", a.err, a.text())
	}
}
