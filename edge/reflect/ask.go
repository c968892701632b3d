package reflect

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	rpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The reflection service's two versions have the same messages on the wire.
var reflectionMethods = []string{
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}

// ask learns a target's services by server reflection, in the newest version that is served.
func ask(ctx context.Context, conn grpc.ClientConnInterface, pick *selection) (*catalog, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, method := range reflectionMethods {
		c, err := askBy(ctx, conn, method, pick)
		if status.Code(err) == codes.Unimplemented {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("server reflection: %w", err)
		}
		return c, nil
	}
	return nil, status.Error(codes.FailedPrecondition,
		"the service does not serve reflection: register it there, or give the backend a descriptor-set")
}

func askBy(ctx context.Context, conn grpc.ClientConnInterface, method string, pick *selection) (*catalog, error) {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method,
		grpc.MaxCallRecvMsgSize(MaxDescriptorBytes))
	if err != nil {
		return nil, err
	}
	a := &asker{stream: stream, catalog: &catalog{files: map[string]*descriptorpb.FileDescriptorProto{}}}
	if err := a.services(pick); err != nil {
		return nil, err
	}
	return a.catalog, stream.CloseSend()
}

// asker asks one question after the other on one stream.
type asker struct {
	stream  grpc.ClientStream
	catalog *catalog
}

// ask returns the answer; refused is a question's own error, err the stream's.
func (a *asker) ask(req *rpb.ServerReflectionRequest) (res *rpb.ServerReflectionResponse, refused, err error) {
	if err := a.stream.SendMsg(req); err != nil {
		// The reason is the stream's, which receiving tells.
		if e := a.stream.RecvMsg(&rpb.ServerReflectionResponse{}); e != nil {
			err = e
		}
		return nil, nil, err
	}
	res = &rpb.ServerReflectionResponse{}
	if err := a.stream.RecvMsg(res); err != nil {
		return nil, nil, err
	}
	if e := res.GetErrorResponse(); e != nil {
		return nil, status.Error(codes.Code(e.GetErrorCode()), e.GetErrorMessage()), nil // #nosec G115 -- a code that gRPC does not have stays one
	}
	return res, nil, nil
}

// services lists the services and fetches their files.
func (a *asker) services(pick *selection) error {
	res, refused, err := a.ask(&rpb.ServerReflectionRequest{
		MessageRequest: &rpb.ServerReflectionRequest_ListServices{},
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return err
	}
	for _, s := range res.GetListServicesResponse().GetService() {
		a.catalog.operations = a.catalog.operations || s.GetName() == operationsService
		if pick.service(s.GetName()) {
			a.catalog.services = append(a.catalog.services, s.GetName())
		}
	}
	if n := len(a.catalog.services); n > MaxServices {
		return fmt.Errorf("%d services are more than %d: select some with include", n, MaxServices)
	}
	slices.Sort(a.catalog.services)
	for _, name := range a.catalog.services {
		refused, err := a.files(&rpb.ServerReflectionRequest{
			MessageRequest: &rpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
		})
		if err != nil {
			return err
		}
		if refused != nil {
			a.catalog.note("service %s is not described: %v", name, refused)
		}
	}
	if err := a.imports(); err != nil {
		return err
	}
	return a.operationTypes()
}

// operationTypes fetches the types that operation_info names, in files that need not be imported. A target that does not know one is noted later.
func (a *asker) operationTypes() error {
	for _, names := range a.catalog.operationTypes() {
		if slices.ContainsFunc(names, a.catalog.declares) {
			continue
		}
		for _, name := range names {
			refused, err := a.files(&rpb.ServerReflectionRequest{
				MessageRequest: &rpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: string(name)},
			})
			if err != nil {
				return err
			}
			if refused == nil {
				break
			}
		}
	}
	return a.imports()
}

// files asks for files and keeps them.
func (a *asker) files(req *rpb.ServerReflectionRequest) (refused, err error) {
	res, refused, err := a.ask(req)
	if refused != nil || err != nil {
		return refused, err
	}
	for _, raw := range res.GetFileDescriptorResponse().GetFileDescriptorProto() {
		if _, err := a.catalog.add(raw); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// imports fetches what the files import and did not come with them. What the server does not know and
// is common, such as protobuf's own files, is taken from here.
func (a *asker) imports() error {
	asked := map[string]bool{}
	for {
		var wanted []string
		for _, fd := range a.catalog.files {
			for _, name := range fd.GetDependency() {
				if a.catalog.files[name] == nil && !asked[name] {
					asked[name] = true
					wanted = append(wanted, name)
				}
			}
		}
		if len(wanted) == 0 {
			return nil
		}
		slices.Sort(wanted)
		for _, name := range wanted {
			refused, err := a.files(&rpb.ServerReflectionRequest{
				MessageRequest: &rpb.ServerReflectionRequest_FileByFilename{FileByFilename: name},
			})
			if err != nil {
				return err
			}
			if refused == nil && a.catalog.files[name] != nil {
				continue
			}
			if err := a.catalog.common(name); err != nil {
				return err
			}
		}
	}
}

// common adds a file that is linked into this program; one that is not is noted.
func (c *catalog) common(name string) error {
	fd, err := protoregistry.GlobalFiles.FindFileByPath(name)
	if err != nil {
		c.note("the file %s, which others import, is not described", name)
		return nil
	}
	raw, err := proto.Marshal(protodesc.ToFileDescriptorProto(fd))
	if err == nil {
		_, err = c.add(raw)
	}
	return err
}
