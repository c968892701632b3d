package reflecttest

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	rpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// single is a reflection service that answers with the requested file only, as most languages' do.
// It does not support extensions.
type single struct {
	rpb.UnimplementedServerReflectionServer
	files  *protoregistry.Files
	before func(*rpb.ServerReflectionRequest)
}

// ServerReflectionInfo implements the service.
func (s *single) ServerReflectionInfo(stream grpc.BidiStreamingServer[rpb.ServerReflectionRequest, rpb.ServerReflectionResponse]) error {
	for {
		req, err := stream.Recv()
		if err != nil {
			return nil
		}
		s.before(req)
		if err := stream.Send(s.answer(req)); err != nil {
			return err
		}
	}
}

func (s *single) answer(req *rpb.ServerReflectionRequest) *rpb.ServerReflectionResponse {
	var fd protoreflect.FileDescriptor
	err := error(protoregistry.NotFound)
	switch about := req.GetMessageRequest().(type) {
	case *rpb.ServerReflectionRequest_ListServices:
		list := &rpb.ListServiceResponse{}
		for name := range (services{s.files}).GetServiceInfo() {
			list.Service = append(list.Service, &rpb.ServiceResponse{Name: name})
		}
		return &rpb.ServerReflectionResponse{MessageResponse: &rpb.ServerReflectionResponse_ListServicesResponse{ListServicesResponse: list}}
	case *rpb.ServerReflectionRequest_FileByFilename:
		fd, err = s.files.FindFileByPath(about.FileByFilename)
	case *rpb.ServerReflectionRequest_FileContainingSymbol:
		var d protoreflect.Descriptor
		if d, err = s.files.FindDescriptorByName(protoreflect.FullName(about.FileContainingSymbol)); err == nil {
			fd = d.ParentFile()
		}
	}
	var raw []byte
	if err == nil {
		raw, err = proto.Marshal(protodesc.ToFileDescriptorProto(fd))
	}
	if err != nil {
		return &rpb.ServerReflectionResponse{MessageResponse: &rpb.ServerReflectionResponse_ErrorResponse{
			ErrorResponse: &rpb.ErrorResponse{ErrorCode: int32(codes.NotFound), ErrorMessage: err.Error()}}}
	}
	return &rpb.ServerReflectionResponse{MessageResponse: &rpb.ServerReflectionResponse_FileDescriptorResponse{
		FileDescriptorResponse: &rpb.FileDescriptorResponse{FileDescriptorProto: [][]byte{raw}}}}
}
