package reflect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	rpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// serving answers questions about files, whose names may be other than those that they are known by. quits ends the
// stream at what is not known.
func serving(files map[string]*descriptorpb.FileDescriptorProto, symbols map[string]string, quits bool) func(*rpb.ServerReflectionRequest) (*rpb.ServerReflectionResponse, error) {
	return func(req *rpb.ServerReflectionRequest) (*rpb.ServerReflectionResponse, error) {
		name := req.GetFileByFilename()
		if symbol := req.GetFileContainingSymbol(); symbol != "" {
			name = symbols[symbol]
		}
		switch fd := files[name]; {
		case fd != nil:
			return found(fd)
		case quits:
			return nil, status.Error(codes.NotFound, "unknown file or symbol")
		}
		return unknown()
	}
}

// Servers describe themselves with mistakes. None of those here costs a tool.
func TestLenient(t *testing.T) {
	shop := func(edit func(*descriptorpb.FileDescriptorProto)) *descriptorpb.FileDescriptorProto {
		fd := file("shop.proto", 1, message("M0", "", ".q.Item", ".google.protobuf.Timestamp"))
		fd.Dependency = []string{"item.proto", "google/protobuf/timestamp.proto"}
		edit(fd)
		return fd
	}
	item := file("item.proto", 0, message("Item", ""))
	item.Package = proto.String("q")
	for name, c := range map[string]struct {
		shop  *descriptorpb.FileDescriptorProto
		quits bool
		more  func(files map[string]*descriptorpb.FileDescriptorProto)
		list  []string
	}{
		"as it should be":                 {shop: shop(func(*descriptorpb.FileDescriptorProto) {})},
		"a server that ends the stream":   {shop: shop(func(*descriptorpb.FileDescriptorProto) {}), quits: true},
		"dependencies that are missing":   {shop: shop(func(fd *descriptorpb.FileDescriptorProto) { fd.Dependency = nil })},
		"missing, and the stream ends":    {shop: shop(func(fd *descriptorpb.FileDescriptorProto) { fd.Dependency = nil }), quits: true},
		"a well-known type by a bad path": {shop: shop(func(fd *descriptorpb.FileDescriptorProto) { fd.Dependency[1] = "protobuf/timestamp.proto" })},
		"a type without a leading dot": {shop: shop(func(fd *descriptorpb.FileDescriptorProto) {
			fd.MessageType[0].Field[1].TypeName = proto.String("q.Item")
			fd.Service[0].Method[0].InputType = proto.String("p.M0")
			fd.Service[0].Method[0].OutputType = proto.String("M0")
		})},
		"a file under another name": {shop: shop(func(fd *descriptorpb.FileDescriptorProto) { fd.Dependency[0] = "api/item.proto" }),
			more: func(files map[string]*descriptorpb.FileDescriptorProto) {
				files["api/item.proto"] = files["item.proto"]
			}},
		"a file under two names": {shop: shop(func(fd *descriptorpb.FileDescriptorProto) { fd.Dependency = append(fd.Dependency, "other/item.proto") }),
			more: func(files map[string]*descriptorpb.FileDescriptorProto) {
				files["other/item.proto"] = proto.Clone(item).(*descriptorpb.FileDescriptorProto)
				files["other/item.proto"].Name = proto.String("other/item.proto")
			}},
		"entries of a map by another name": {shop: shop(func(fd *descriptorpb.FileDescriptorProto) {
			entry := message("Labels", "", "")
			entry.Options = &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}
			entry.Field[0].Name, entry.Field[1].Name = proto.String("key"), proto.String("value")
			m := fd.MessageType[0]
			m.NestedType = []*descriptorpb.DescriptorProto{entry}
			m.Field[1] = &descriptorpb.FieldDescriptorProto{Name: proto.String("some_labels"), Number: proto.Int32(7), TypeName: proto.String(".p.M0.Labels"),
				Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()}
		})},
		"a service listed twice": {shop: shop(func(*descriptorpb.FileDescriptorProto) {}), list: []string{"p.S", "p.S"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]*descriptorpb.FileDescriptorProto{"shop.proto": c.shop, "item.proto": item}
			if c.more != nil {
				c.more(files)
			}
			if c.list == nil {
				c.list = []string{"p.S"}
			}
			r := &reflected{services: c.list, answer: serving(files, map[string]string{"p.S": "shop.proto", "q.Item": "item.proto"}, c.quits)}
			m, err := learn(t.Context(), r, &Options{}, nil, nil, nil)
			if err != nil || len(m.tools) != 1 || m.tools[0].GetName() != "s_do0" {
				t.Fatalf("%+v, %v", m, err)
			}
			if !strings.Contains(m.tools[0].GetInputSchemaJson(), `"f2":{"type":"string","format":"date-time"}`) {
				t.Errorf("schema: %s", m.tools[0].GetInputSchemaJson())
			}
			slices.Sort(r.asked)
			if len(slices.Compact(slices.Clone(r.asked))) < len(r.asked) && !c.quits {
				t.Errorf("asked twice: %q", r.asked)
			}
		})
	}
}

// What is not described anywhere costs the methods that use it, and no other.
func TestWhatIsNotDescribed(t *testing.T) {
	for _, quits := range []bool{false, true} {
		t.Run(fmt.Sprintf("the stream ends %t", quits), func(t *testing.T) {
			fd := file("shop.proto", 2, message("M0", ""), message("M1", ".gone.Away"), message("M2", ".p.M1"))
			fd.Dependency = []string{"gone.proto"}
			fd.Service[0].Method[0].InputType = proto.String(".p.M2")
			r := &reflected{services: []string{"p.S", "p.Gone"}, answer: serving(map[string]*descriptorpb.FileDescriptorProto{"shop.proto": fd}, map[string]string{"p.S": "shop.proto"}, quits)}
			m, err := learn(t.Context(), r, &Options{}, nil, nil, nil)
			if err != nil || len(m.tools) != 1 || m.tools[0].GetName() != "s_do1" {
				t.Fatalf("%+v, %v", m, err)
			}
			notes := strings.Join(m.notes, "\n")
			for _, want := range []string{"method p.S/Do0 takes a gone.Away, which is not described, and is not a tool", "service p.Gone is not described"} {
				if !strings.Contains(notes, want) {
					t.Errorf("no note %q in %q", want, notes)
				}
			}
		})
	}
}

// v1 that fails in whatever way is no reason to give up while v1alpha works.
func TestBothVersionsAreTried(t *testing.T) {
	for _, code := range []codes.Code{codes.Unimplemented, codes.Unavailable, codes.Internal, codes.Unknown, codes.Unauthenticated, codes.PermissionDenied} {
		r := &reflected{services: []string{"p.S"}, answer: serving(map[string]*descriptorpb.FileDescriptorProto{"shop.proto": file("shop.proto", 1, message("M0", ""))}, map[string]string{"p.S": "shop.proto"}, false)}
		r.fails = map[string]error{reflectionMethods[0]: status.Error(code, "not here")}
		if m, err := learn(t.Context(), r, &Options{}, nil, nil, nil); err != nil || len(m.tools) != 1 {
			t.Errorf("%v: %v, %v", code, m, err)
		}
		r.fails[reflectionMethods[1]] = status.Error(codes.Unimplemented, "")
		if _, err := learn(t.Context(), r, &Options{}, nil, nil, nil); code != codes.Unimplemented && status.Code(err) != code {
			t.Errorf("%v in both: %v", code, err)
		}
	}
}
