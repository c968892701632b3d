// Package hookserver is a hook for tests: mcpedge.hook.v1.HookService over TCP.
package hookserver

import (
	"context"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"

	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// Request and Result answer a check. ctx is that of the RPC.
type (
	Request func(ctx context.Context, req *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error)
	Result  func(ctx context.Context, req *hookv1.CheckResultRequest) (*hookv1.CheckResultResponse, error)
)

// Server is a hook. It passes everything until By or OnResult is called. It is safe for concurrent use.
type Server struct {
	hookv1.UnimplementedHookServiceServer
	// Addr is host:port.
	Addr string

	mu      sync.Mutex
	request Request
	result  Result
	calls   []*hookv1.CheckRequestRequest
	results []*hookv1.CheckResultRequest
	running *grpc.Server
}

// Serve runs a server until the test ends or Stop is called.
func Serve(t testing.TB) *Server {
	t.Helper()
	l, err := freeport.Listen()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: l.Addr().String(), request: Pass, result: PassResult}
	s.serve(l)
	t.Cleanup(s.Stop)
	return s
}

func (s *Server) serve(l net.Listener) {
	g := grpc.NewServer(grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(64<<20))
	hookv1.RegisterHookServiceServer(g, s)
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

// Again restarts a stopped server at the same address.
func (s *Server) Again(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	s.serve(l)
}

// By sets the function that checks requests from now on.
func (s *Server) By(f Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request = f
}

// OnResult sets the function that checks results from now on.
func (s *Server) OnResult(f Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result = f
}

// Asked returns the requests and the results that were checked since the last call of Asked.
func (s *Server) Asked() ([]*hookv1.CheckRequestRequest, []*hookv1.CheckResultRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls, results := s.calls, s.results
	s.calls, s.results = nil, nil
	return calls, results
}

// CheckRequest implements hookv1.HookServiceServer.
func (s *Server) CheckRequest(ctx context.Context, req *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
	s.mu.Lock()
	s.calls = append(s.calls, req)
	f := s.request
	s.mu.Unlock()
	return f(ctx, req)
}

// CheckResult implements hookv1.HookServiceServer.
func (s *Server) CheckResult(ctx context.Context, req *hookv1.CheckResultRequest) (*hookv1.CheckResultResponse, error) {
	s.mu.Lock()
	s.results = append(s.results, req)
	f := s.result
	s.mu.Unlock()
	return f(ctx, req)
}

// Pass passes a request.
func Pass(context.Context, *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
	return &hookv1.CheckRequestResponse{Verdict: &hookv1.CheckRequestResponse_Pass{Pass: &hookv1.Pass{}}}, nil
}

// PassResult passes a result.
func PassResult(context.Context, *hookv1.CheckResultRequest) (*hookv1.CheckResultResponse, error) {
	return &hookv1.CheckResultResponse{Verdict: &hookv1.CheckResultResponse_Pass{Pass: &hookv1.Pass{}}}, nil
}

// Deny denies requests for a reason.
func Deny(reason string) Request {
	return func(context.Context, *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
		return &hookv1.CheckRequestResponse{Verdict: &hookv1.CheckRequestResponse_Deny{Deny: &hookv1.Deny{Reason: reason}}}, nil
	}
}

// DenyResult withholds results for a reason.
func DenyResult(reason string) Result {
	return func(context.Context, *hookv1.CheckResultRequest) (*hookv1.CheckResultResponse, error) {
		return &hookv1.CheckResultResponse{Verdict: &hookv1.CheckResultResponse_Deny{Deny: &hookv1.Deny{Reason: reason}}}, nil
	}
}

// Arguments replaces the arguments of requests.
func Arguments(text string) Request {
	return func(context.Context, *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
		return &hookv1.CheckRequestResponse{Verdict: &hookv1.CheckRequestResponse_Replace{Replace: &hookv1.RequestReplacement{ArgumentsJson: text}}}, nil
	}
}

// Outcome replaces results.
func Outcome(o *hookv1.Outcome) Result {
	return func(context.Context, *hookv1.CheckResultRequest) (*hookv1.CheckResultResponse, error) {
		return &hookv1.CheckResultResponse{Verdict: &hookv1.CheckResultResponse_Replace{Replace: o}}, nil
	}
}

// Text is the result of a tool that is a text.
func Text(text string) *hookv1.Outcome {
	return &hookv1.Outcome{Outcome: &hookv1.Outcome_Tool{Tool: &pb.CallToolResult{
		Content: []*pb.ContentBlock{{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: text}}}},
	}}}
}
