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

// Request, Result and List answer a check. ctx is that of the RPC.
type (
	Request func(ctx context.Context, req *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error)
	Result  func(ctx context.Context, req *hookv1.CheckResultRequest) (*hookv1.CheckResultResponse, error)
	List    func(ctx context.Context, req *hookv1.CheckListRequest) (*hookv1.CheckListResponse, error)
)

// Server is a hook. It passes everything until SetRequest, OnResult or OnList is called. It is safe for concurrent use.
type Server struct {
	hookv1.UnimplementedHookServiceServer
	// Addr is host:port.
	Addr string

	mu      sync.Mutex
	request Request
	result  Result
	list    List
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
	s := &Server{Addr: l.Addr().String(), request: Pass, result: PassResult, list: PassList}
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

// Restart restarts a stopped server at the same address.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	s.serve(l)
}

// SetRequest sets the function that checks requests from now on.
func (s *Server) SetRequest(f Request) {
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

// OnList sets the function that checks lists from now on.
func (s *Server) OnList(f List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = f
}

// CheckList implements hookv1.HookServiceServer.
func (s *Server) CheckList(ctx context.Context, req *hookv1.CheckListRequest) (*hookv1.CheckListResponse, error) {
	s.mu.Lock()
	f := s.list
	s.mu.Unlock()
	return f(ctx, req)
}

// PassList passes all entries.
func PassList(ctx context.Context, req *hookv1.CheckListRequest) (*hookv1.CheckListResponse, error) {
	return Entries(func(*hookv1.ListEntry) *hookv1.ListVerdict { return nil })(ctx, req)
}

// Entries answers by the verdict on each entry; nil passes it.
func Entries(verdict func(*hookv1.ListEntry) *hookv1.ListVerdict) List {
	return func(_ context.Context, req *hookv1.CheckListRequest) (*hookv1.CheckListResponse, error) {
		out := &hookv1.CheckListResponse{}
		for _, e := range req.GetEntries() {
			v := verdict(e)
			if v == nil {
				v = &hookv1.ListVerdict{Verdict: &hookv1.ListVerdict_Pass{Pass: &hookv1.Pass{}}}
			}
			out.Verdicts = append(out.Verdicts, v)
		}
		return out, nil
	}
}

// Hidden hides an entry.
func Hidden() *hookv1.ListVerdict {
	return &hookv1.ListVerdict{Verdict: &hookv1.ListVerdict_Deny{Deny: &hookv1.Deny{}}}
}

// Texts replaces the texts of an entry.
func Texts(title, description string) *hookv1.ListVerdict {
	return &hookv1.ListVerdict{Verdict: &hookv1.ListVerdict_Replace{Replace: &hookv1.ListTexts{Title: title, Description: description}}}
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

// Text returns a tool result with one text.
func Text(text string) *hookv1.Outcome {
	return &hookv1.Outcome{Outcome: &hookv1.Outcome_Tool{Tool: &pb.CallToolResult{
		Content: []*pb.ContentBlock{{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: text}}}},
	}}}
}
