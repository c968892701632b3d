package reflect

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	rpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// metFiles are a service, and two files that it does not import: one of them uses the other and the service's.
func metFiles() map[string]*descriptorpb.FileDescriptorProto {
	more := file("more.proto", 0, message("More", ".p.M0", ".p.Part"))
	more.Dependency = []string{"shop.proto", "part.proto"}
	return map[string]*descriptorpb.FileDescriptorProto{
		"shop.proto": file("shop.proto", 1, message("M0", "")), "more.proto": more, "part.proto": file("part.proto", 0, message("Part", "")),
		"broken.proto": file("broken.proto", 0, message("Broken", ".p.Nowhere")),
	}
}

// A type that an Any holds is asked for once, with what it uses and is not known; one that is not found is not asked for again.
func TestAnyTypesAreAskedForOnce(t *testing.T) {
	for _, quits := range []bool{false, true} {
		t.Run(fmt.Sprintf("the stream ends %t", quits), func(t *testing.T) {
			symbols := map[string]string{"p.S": "shop.proto", "p.More": "more.proto", "p.Broken": "broken.proto", "p.S.Do0": "shop.proto"}
			r := &reflected{services: []string{"p.S"}, answer: serving(metFiles(), symbols, quits)}
			m, err := learn(t.Context(), r, &Options{}, nil, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				name  string
				found bool
				asks  []string
			}{
				{"p.More", true, []string{"p.More", "part.proto"}},
				{"p.More", true, nil},
				{"p.Gone", false, []string{"p.Gone"}},
				{"p.Gone", false, nil},
				{"p.Broken", false, []string{"p.Broken", "p.Nowhere"}},
				{"p.Broken", false, nil},
				{"not a name", false, nil},
				{"", false, nil},
			} {
				r.asked = nil
				found, _, _ := m.any.find(metadata.AppendToOutgoingContext(t.Context(), "authorization", "a caller's"), r, protoreflect.FullName(c.name))
				if len(r.metadata) > 0 {
					t.Errorf("%s: asked with %v", c.name, r.metadata)
				}
				if (found != nil) != c.found || fmt.Sprint(r.asked) != fmt.Sprint(c.asks) {
					t.Errorf("%s: found %v, asked %q, want %q", c.name, found != nil, r.asked, c.asks)
				}
			}
		})
	}
}

// A target that cannot be asked may be asked again, and one without server reflection is not asked.
func TestAnyTypesOfATargetThatFails(t *testing.T) {
	r := &reflected{services: []string{"p.S"}, answer: serving(metFiles(), map[string]string{"p.S": "shop.proto", "p.More": "more.proto"}, false)}
	m, err := learn(t.Context(), r, &Options{}, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.fails = map[string]error{reflectionMethods[0]: status.Error(codes.Unavailable, "away")}
	if found, asked, err := m.any.find(t.Context(), r, "p.More"); found != nil || !asked || status.Code(err) != codes.Unavailable {
		t.Errorf("found %v, asked %v, %v", found, asked, err)
	}
	for name, until := range m.any.missed {
		m.any.missed[name] = until.Add(-failedFor)
	}
	r.fails = nil
	if found, _, err := m.any.find(t.Context(), r, "p.More"); found == nil {
		t.Errorf("later: %v", err)
	}
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{metFiles()["shop.proto"]}}
	raw, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	m, err = learn(t.Context(), nil, &Options{DescriptorSet: func() ([]byte, error) { return raw, nil }}, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if found, asked, err := m.any.find(t.Context(), nil, "p.More"); found != nil || asked || err != nil {
		t.Errorf("of a descriptor set: found %v, asked %v, %v", found, asked, err)
	}
}

// Callers choose the types in their arguments: what is remembered of them is bounded, and so is what one call asks.
func TestAnyTypesAreBounded(t *testing.T) {
	any := newAnyTypes(reflectionMethods[0], nil, nil)
	r := &reflected{answer: func(*rpb.ServerReflectionRequest) (*rpb.ServerReflectionResponse, error) { return unknown() }}
	for i := range limit.MaxAnyMissed + 10 {
		any.find(t.Context(), r, protoreflect.FullName(fmt.Sprintf("p.Gone%d", i)))
	}
	if len(any.missed) != limit.MaxAnyMissed {
		t.Errorf("%d types are remembered", len(any.missed))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	any.asking <- struct{}{} // another caller asks
	if _, _, err := any.find(ended, r, "p.Other"); err == nil {
		t.Error("a call that has ended waits")
	}
}

// The extensions of a message are described by files that need not be imported.
func TestExtensionsAreAskedFor(t *testing.T) {
	shop := file("shop.proto", 1, message("M0", ""))
	shop.Syntax = proto.String("proto2")
	shop.MessageType[0].ExtensionRange = []*descriptorpb.DescriptorProto_ExtensionRange{{Start: proto.Int32(100), End: proto.Int32(200)}}
	x := file("x.proto", 0)
	x.Syntax = proto.String("proto2")
	x.Dependency = []string{"shop.proto"}
	x.Extension = []*descriptorpb.FieldDescriptorProto{{
		Name: proto.String("x"), Number: proto.Int32(150), Extendee: proto.String(".p.M0"),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
	}}
	files := serving(map[string]*descriptorpb.FileDescriptorProto{"shop.proto": shop}, map[string]string{"p.S": "shop.proto"}, true)
	for _, knows := range []bool{true, false} {
		r := &reflected{services: []string{"p.S"}, answer: func(req *rpb.ServerReflectionRequest) (*rpb.ServerReflectionResponse, error) {
			switch {
			case req.GetAllExtensionNumbersOfType() == "p.M0" && knows:
				return &rpb.ServerReflectionResponse{MessageResponse: &rpb.ServerReflectionResponse_AllExtensionNumbersResponse{
					AllExtensionNumbersResponse: &rpb.ExtensionNumberResponse{BaseTypeName: "p.M0", ExtensionNumber: []int32{150, 151}}}}, nil
			case req.GetFileContainingExtension().GetExtensionNumber() == 150:
				return found(x)
			}
			return files(req)
		}}
		m, err := learn(t.Context(), r, &Options{}, nil, nil, nil)
		if err != nil || len(m.tools) != 1 {
			t.Fatalf("%v, %v", m, err)
		}
		if _, err := m.types.FindExtensionByNumber("p.M0", 150); (err == nil) != knows {
			t.Errorf("known %t: %v", knows, err)
		}
	}
}
