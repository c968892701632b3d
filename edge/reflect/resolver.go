package reflect

import (
	"context"

	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// resolver resolves messages and extensions of the target, then those linked into this program. It
// rejects invalid and overlong names first, because registries look up every prefix of a name. Safe
// for concurrent use.
type resolver struct{ types *dynamicpb.Types }

// isName reports whether a text may be the full name of a declaration.
func isName(name protoreflect.FullName) bool { return len(name) <= limit.MaxName && name.IsValid() }

// FindMessageByName implements protoregistry.MessageTypeResolver.
func (r resolver) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	if !isName(name) {
		return nil, protoregistry.NotFound
	}
	if t, err := r.types.FindMessageByName(name); err == nil {
		return t, nil
	}
	return protoregistry.GlobalTypes.FindMessageByName(name)
}

// FindMessageByURL implements protoregistry.MessageTypeResolver.
func (r resolver) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	if !isName(typeOf(url)) {
		return nil, protoregistry.NotFound
	}
	if t, err := r.types.FindMessageByURL(url); err == nil {
		return t, nil
	}
	return protoregistry.GlobalTypes.FindMessageByURL(url)
}

// FindExtensionByName implements protoregistry.ExtensionTypeResolver.
func (r resolver) FindExtensionByName(field protoreflect.FullName) (protoreflect.ExtensionType, error) {
	if !isName(field) {
		return nil, protoregistry.NotFound
	}
	return r.types.FindExtensionByName(field)
}

// FindExtensionByNumber implements protoregistry.ExtensionTypeResolver.
func (r resolver) FindExtensionByNumber(message protoreflect.FullName, field protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	return r.types.FindExtensionByNumber(message, field)
}

// types resolves the types that JSON may name.
type types interface {
	protoregistry.MessageTypeResolver
	protoregistry.ExtensionTypeResolver
}

// knownTypes resolves types that are known already, without a request to the target.
type knownTypes struct {
	resolver
	any *anyTypes
}

// FindMessageByURL implements protoregistry.MessageTypeResolver.
func (k knownTypes) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	if !isName(typeOf(url)) {
		return nil, protoregistry.NotFound
	}
	if t, err := k.resolver.FindMessageByURL(url); err == nil {
		return t, nil
	}
	if t, _ := k.any.known(typeOf(url)); t != nil {
		return t, nil
	}
	return nil, protoregistry.NotFound
}

// callTypes is the resolver of one call. It requests undescribed types in a google.protobuf.Any
// from the target. It is for one goroutine.
type callTypes struct {
	resolver
	ctx context.Context
	a   *Adapter
	any *anyTypes
	// asked is the number of requests of the call.
	asked int
	// found reports that the call has used a requested type.
	found bool
}

// types returns the call's resolver.
func (c *call) types() *callTypes {
	if c.resolver == nil {
		c.resolver = &callTypes{resolver: c.model.types, ctx: c.events.ctx, a: c.a, any: c.model.any}
	}
	return c.resolver
}

// FindMessageByURL implements protoregistry.MessageTypeResolver.
func (t *callTypes) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	found, err := t.resolver.FindMessageByURL(url)
	if err == nil || t.asked >= limit.MaxAnyAsked {
		return found, err
	}
	found, asked, err := t.any.find(t.ctx, t.a.target, typeOf(url))
	if err != nil {
		t.a.log.Info("a type in a google.protobuf.Any is not known", "type", url, "error", err)
	}
	if asked {
		t.asked++
	}
	if found == nil {
		return nil, protoregistry.NotFound
	}
	t.found = true
	return found, nil
}

// codec is a gRPC codec that decodes the extensions in the target's files.
type codec struct {
	encoding.CodecV2
	types resolver
}

func newCodec(types resolver) codec {
	return codec{encoding.GetCodecV2(encodingproto.Name), types}
}

// Name implements encoding.CodecV2. An empty name leaves the content type unchanged.
func (codec) Name() string { return "" }

// Unmarshal implements encoding.CodecV2. v is a proto.Message, or an *answer, whose decoding is
// deferred.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if a, ok := v.(*answer); ok {
		a.raw = data.Materialize()
		return nil
	}
	m, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	return proto.UnmarshalOptions{Resolver: c.types}.Unmarshal(buf.ReadOnlyData(), m)
}
