// Package authorizer is a policy server for tests: envoy.service.auth.v3.Authorization over TCP.
package authorizer

import (
	"context"
	"net"
	"sync"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcpedge/mcpedge/edge/policy/external"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// Decide answers a check. ctx is that of the RPC.
type Decide func(ctx context.Context, req *authv3.CheckRequest) (*authv3.CheckResponse, error)

// Server is a policy server. It allows everything until SetDecide is called. It is safe for concurrent
// use.
type Server struct {
	authv3.UnimplementedAuthorizationServer
	// Addr is host:port. It stays the same after Restart.
	Addr string

	options []grpc.ServerOption
	mu      sync.Mutex
	decide  Decide
	asked   []*authv3.CheckRequest
	running *grpc.Server
}

// Serve runs a server until the test ends or Stop is called.
func Serve(t testing.TB, options ...grpc.ServerOption) *Server {
	t.Helper()
	l, err := freeport.Listen()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: l.Addr().String(), options: options, decide: Allow}
	s.serve(l)
	t.Cleanup(s.Stop)
	return s
}

func (s *Server) serve(l net.Listener) {
	g := grpc.NewServer(s.options...)
	authv3.RegisterAuthorizationServer(g, s)
	s.mu.Lock()
	s.running = g
	s.mu.Unlock()
	go func() { _ = g.Serve(l) }()
}

// Stop stops the server and ends running checks.
func (s *Server) Stop() {
	s.mu.Lock()
	g := s.running
	s.mu.Unlock()
	g.Stop()
}

// Restart restarts a stopped server at the same address.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	s.serve(l)
}

// SetDecide sets the function that decides from now on.
func (s *Server) SetDecide(d Decide) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decide = d
}

// Asked returns the checks since the last call of Asked.
func (s *Server) Asked() []*authv3.CheckRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.asked
	s.asked = nil
	return out
}

// Check implements authv3.AuthorizationServer.
func (s *Server) Check(ctx context.Context, req *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	s.mu.Lock()
	s.asked = append(s.asked, req)
	d := s.decide
	s.mu.Unlock()
	return d(ctx, req)
}

// Allow allows everything.
func Allow(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	return &authv3.CheckResponse{Status: &status.Status{Code: int32(codes.OK)}}, nil
}

// Deny denies everything. body is the body of the response.
func Deny(body string) Decide {
	return func(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		return &authv3.CheckResponse{
			Status:       &status.Status{Code: int32(codes.PermissionDenied)},
			HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{Body: body}},
		}, nil
	}
}

// About returns the part of a check that describes the request: the metadata of Envoy's MCP filter.
func About(req *authv3.CheckRequest) *structpb.Struct {
	return req.GetAttributes().GetMetadataContext().GetFilterMetadata()[external.Namespace]
}
