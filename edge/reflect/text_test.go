package reflect_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
)

// Invalid UTF-8 of a service, in a status or a comment, reaches no client unchanged.
func TestTextThatIsNoUTF8(t *testing.T) {
	set := shop("Get")
	set.File[0].SourceCodeInfo = &descriptorpb.SourceCodeInfo{Location: []*descriptorpb.SourceCodeInfo_Location{
		{Path: []int32{6, 0, 2, 0}, Span: []int32{1, 1, 1}, LeadingComments: proto.String("Gets \xff it.")},
	}}
	s := reflecttest.Serve(t, shop("Get"), func(context.Context, protoreflect.MethodDescriptor, *dynamicpb.Message, func(*dynamicpb.Message) error) error {
		return status.Error(codes.NotFound, "none \xff here")
	}, reflecttest.Options{})
	e := newEdge(t, s.Addr, reflect.Options{DescriptorSet: func() ([]byte, error) { return proto.Marshal(set) }})
	about := e.list()["shop_get"].GetDescription()
	if !strings.HasPrefix(about, "Gets ") || !utf8.ValidString(about) {
		t.Errorf("the description is %q", about)
	}
	a := e.call("shop_get", `{"id":"a"}`)
	if a.err != nil || !strings.HasPrefix(a.text(), "NOT_FOUND: none ") || !utf8.ValidString(a.text()) {
		t.Errorf("%v, %q", a.err, a.text())
	}
}
