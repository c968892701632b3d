// Command authorizer is the policy server of the benchmarks: it allows everything, as fast as it can.
package main

import (
	"context"
	"fmt"
	"log"
	"net"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

type server struct {
	authv3.UnimplementedAuthorizationServer
}

// Check implements authv3.AuthorizationServer.
func (server) Check(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	return &authv3.CheckResponse{Status: &status.Status{Code: int32(codes.OK)}}, nil
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	g := grpc.NewServer()
	authv3.RegisterAuthorizationServer(g, server{})
	fmt.Println(l.Addr())
	log.Fatal(g.Serve(l))
}
