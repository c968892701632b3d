package main

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	rpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
)

// stockProto is an ordinary service that knows nothing of MCP.
const stockProto = `
syntax = "proto3";
package stock.v1;
import "google/protobuf/empty.proto";
service StockService {
  rpc Put(PutRequest) returns (google.protobuf.Empty);
}
message PutRequest {
  repeated Item items = 1;
}
message Item {
  int32 count = 1;
  string name = 2;
  oneof place {
    int64 shelf = 3;
    string room = 4;
  }
  repeated double weights = 5;
  Kind kind = 6;
}
enum Kind {
  KIND_UNSPECIFIED = 0;
  KIND_SMALL = 1;
  KIND_LARGE = 2;
}
`

// stockTool is what the method becomes.
const stockTool = "stock_put"

// newStock serves it, and reflection.
func newStock() *grpc.Server {
	files := reflecttest.Files(reflecttest.Compile(map[string]string{"stock.proto": stockProto}))
	s := newServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if method, _ := grpc.MethodFromServerStream(stream); method != "/stock.v1.StockService/Put" {
			return status.Errorf(codes.Unimplemented, "unknown method %s", method)
		}
		if err := stream.RecvMsg(new(emptypb.Empty)); err != nil { // whatever was sent, as unknown fields
			return err
		}
		return stream.SendMsg(new(emptypb.Empty))
	}))
	info := reflection.ServerOptions{Services: stockServices{}, DescriptorResolver: files}
	rpb.RegisterServerReflectionServer(s, reflection.NewServerV1(info))
	return s
}

// stockServices tells reflection what is served.
type stockServices struct{}

// GetServiceInfo implements reflection.ServiceInfoProvider.
func (stockServices) GetServiceInfo() map[string]grpc.ServiceInfo {
	return map[string]grpc.ServiceInfo{"stock.v1.StockService": {}}
}
