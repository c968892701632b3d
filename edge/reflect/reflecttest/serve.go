package reflecttest

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	rpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	rpbalpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Handler handles a call of any method. It sends one message, or any number for a stream.
type Handler func(ctx context.Context, method protoreflect.MethodDescriptor, in *dynamicpb.Message, send func(*dynamicpb.Message) error) error

// Options of a Server. The zero value listens on any port and serves reflection v1.
type Options struct {
	// Addr to listen on; empty means any port of loopback.
	Addr string
	// Alpha serves reflection v1alpha instead of v1, Mute none.
	Alpha, Mute bool
	// Single, unless nil, makes reflection answer with single files, without imports. It is called
	// before each answer.
	Single func(*rpb.ServerReflectionRequest)
	// Server are further options of the gRPC server.
	Server []grpc.ServerOption
}

// Server serves the services of a descriptor set.
type Server struct {
	Addr string
	GRPC *grpc.Server
}

// Serve starts a server, which ends with the test.
func Serve(t testing.TB, set *descriptorpb.FileDescriptorSet, handle Handler, opts Options) *Server {
	t.Helper()
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", opts.Addr)
	if err != nil {
		t.Fatal(err)
	}
	files := Files(set)
	s := &Server{Addr: listener.Addr().String()}
	s.GRPC = grpc.NewServer(append(opts.Server, grpc.WaitForHandlers(true), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		return serve(files, handle, stream)
	}))...)
	info := reflection.ServerOptions{Services: services{files}, DescriptorResolver: files, ExtensionResolver: extensions{dynamicpb.NewTypes(files), files}}
	switch {
	case opts.Mute:
	case opts.Single != nil:
		rpb.RegisterServerReflectionServer(s.GRPC, &single{files: files, before: opts.Single})
	case opts.Alpha:
		rpbalpha.RegisterServerReflectionServer(s.GRPC, reflection.NewServer(info))
	default:
		rpb.RegisterServerReflectionServer(s.GRPC, reflection.NewServerV1(info))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.GRPC.Serve(listener)
	}()
	t.Cleanup(func() {
		s.GRPC.Stop()
		<-done
	})
	return s
}

func serve(files *protoregistry.Files, handle Handler, stream grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(stream)
	md := method(files, name)
	if md == nil {
		return status.Errorf(codes.Unimplemented, "unknown method %s", name)
	}
	in := dynamicpb.NewMessage(md.Input())
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	return handle(stream.Context(), md, in, func(out *dynamicpb.Message) error { return stream.SendMsg(out) })
}

func method(files *protoregistry.Files, path string) protoreflect.MethodDescriptor {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] != '/' {
			continue
		}
		d, err := files.FindDescriptorByName(protoreflect.FullName(path[1:i]))
		if s, ok := d.(protoreflect.ServiceDescriptor); ok && err == nil {
			return s.Methods().ByName(protoreflect.Name(path[i+1:]))
		}
	}
	return nil
}

// extensions resolves extensions for reflection, except those of the left-out messages.
type extensions struct {
	*dynamicpb.Types
	files *protoregistry.Files
}

// RangeExtensionsByMessage implements reflection.ExtensionResolver.
func (e extensions) RangeExtensionsByMessage(of protoreflect.FullName, fn func(protoreflect.ExtensionType) bool) {
	e.files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Extensions().Len() {
			x := fd.Extensions().Get(i)
			if x.ContainingMessage().FullName() == of && !fn(dynamicpb.NewExtensionType(x)) {
				return false
			}
		}
		return true
	})
}

// services lists the services for reflection.
type services struct{ files *protoregistry.Files }

// GetServiceInfo implements reflection.ServiceInfoProvider.
func (s services) GetServiceInfo() map[string]grpc.ServiceInfo {
	out := map[string]grpc.ServiceInfo{}
	s.files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Services().Len() {
			out[string(fd.Services().Get(i).FullName())] = grpc.ServiceInfo{}
		}
		return true
	})
	return out
}

// Answer handles the bundled services. Echo, Walk, Every and similar methods return their request,
// Count counts, Fail returns the requested status, and the others return an empty message.
func Answer(_ context.Context, method protoreflect.MethodDescriptor, in *dynamicpb.Message, send func(*dynamicpb.Message) error) error {
	out := dynamicpb.NewMessage(method.Output())
	field := func(m *dynamicpb.Message, name protoreflect.Name) protoreflect.Value {
		return m.Get(m.Descriptor().Fields().ByName(name))
	}
	switch method.Name() {
	case "Echo", "Walk", "Every":
		return send(in)
	case "Stamp":
		text, err := protojson.Marshal(in)
		if err != nil {
			return err
		}
		out.Set(out.Descriptor().Fields().ByName("value"), protoreflect.ValueOfString(string(text)))
	case "Count":
		for n := range field(in, "to").Int() {
			out := dynamicpb.NewMessage(method.Output())
			out.Set(out.Descriptor().Fields().ByName("number"), protoreflect.ValueOfInt32(int32(n)+1))
			out.Set(out.Descriptor().Fields().ByName("text"), field(in, "text"))
			if err := send(out); err != nil {
				return err
			}
		}
		return nil
	case "Fail":
		return failure(in)
	case "Delete", "Peek":
		out.Set(out.Descriptor().Fields().ByName("id"), field(in, "id"))
	}
	return send(out)
}

// failure is the status that a FailRequest asks for.
func failure(in *dynamicpb.Message) error {
	fields := in.Descriptor().Fields()
	st := status.New(codes.Code(in.Get(fields.ByName("code")).Int()), in.Get(fields.ByName("message")).String()).Proto() // #nosec G115 -- a test names the code
	details := in.Get(fields.ByName("details")).List()
	for i := range details.Len() {
		raw := details.Get(i).Message()
		st.Details = append(st.Details, anyOf(raw))
	}
	return status.ErrorProto(st)
}
