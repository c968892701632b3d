package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// hostileHook lies about everything that it is asked, in another way each time, and never denies: what it has checked must not reach
// a client, nor a backend.
type hostileHook struct {
	hookv1.UnimplementedHookServiceServer
	asked atomic.Int64
}

// liesAboutRequests and liesAboutResults are what a hook must not be believed.
var (
	liesAboutRequests = []func() (*hookv1.CheckRequestResponse, error){
		func() (*hookv1.CheckRequestResponse, error) { return &hookv1.CheckRequestResponse{}, nil },
		replacedBy(`{"text":`), replacedBy(`[]`), replacedBy(`{"text":"a","text":"b"}`), replacedBy(strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)),
		replacedBy(`{"text":"` + strings.Repeat("x", 32<<20) + `"}`),
		func() (*hookv1.CheckRequestResponse, error) {
			return nil, status.Error(codes.Internal, strings.Repeat("x", 4<<10))
		},
	}
	liesAboutResults = []*hookv1.Outcome{
		{}, {Outcome: &hookv1.Outcome_Values{Values: &hookv1.Values{Values: []string{"x"}}}},
		{Outcome: &hookv1.Outcome_Tool{Tool: &pb.CallToolResult{Content: []*pb.ContentBlock{{}}}}},
		{Outcome: &hookv1.Outcome_Tool{Tool: &pb.CallToolResult{StructuredContentJson: "{"}}},
		{Outcome: &hookv1.Outcome_Tool{Tool: &pb.CallToolResult{Content: []*pb.ContentBlock{
			{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: strings.Repeat("x", 32<<20)}}}}}}},
	}
)

func replacedBy(arguments string) func() (*hookv1.CheckRequestResponse, error) {
	return func() (*hookv1.CheckRequestResponse, error) {
		return &hookv1.CheckRequestResponse{Verdict: &hookv1.CheckRequestResponse_Replace{Replace: &hookv1.RequestReplacement{ArgumentsJson: arguments}}}, nil
	}
}

func (h *hostileHook) CheckRequest(ctx context.Context, req *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
	n := int(h.asked.Add(1))
	switch {
	case strings.Contains(req.GetCall().GetArgumentsJson(), "to the result"):
		return &hookv1.CheckRequestResponse{Verdict: &hookv1.CheckRequestResponse_Pass{Pass: &hookv1.Pass{}}}, nil
	case n%10 == 0:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return liesAboutRequests[n%len(liesAboutRequests)]()
}

func (h *hostileHook) CheckResult(context.Context, *hookv1.CheckResultRequest) (*hookv1.CheckResultResponse, error) {
	n := int(h.asked.Add(1))
	return &hookv1.CheckResultResponse{Verdict: &hookv1.CheckResultResponse_Replace{Replace: liesAboutResults[n%len(liesAboutResults)]}}, nil
}

// hostileHooks calls through a hook that lies, until it has lied in each way: no call may succeed.
func hostileHooks(ctx context.Context, s *site) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h, server := &hostileHook{}, grpc.NewServer(grpc.MaxSendMsgSize(64<<20))
	hookv1.RegisterHookServiceServer(server, h)
	go func() { _ = server.Serve(l) }() // ends with Stop
	defer server.Stop()
	settings := fmt.Sprintf("hooks: [{name: liar, target: %q, on: [request, answer, result], timeout: 200ms, concurrency: 8}]", l.Addr())
	return withPolicy(settings, func(ctx context.Context, s *site, r *ruled) error {
		c := r.as(s, nil)
		defer c.close()
		for i := 0; ctx.Err() == nil && h.asked.Load() < int64(10*len(liesAboutRequests)); i++ {
			text := []string{"a request", "to the result"}[i%2]
			a, err := c.send(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":`+meta("")+
				`,"name":"echo","arguments":{"text":"`+text+`"}}}`, modernHeader("tools/call", "echo")...)
			if err != nil {
				return err
			}
			if !strings.Contains(string(a.body), `"error"`) || strings.Contains(string(a.body), l.Addr().String()) {
				return fmt.Errorf("a hook that lies was believed, or named: %.300s", a.body)
			}
			if strings.Contains(string(a.body), "must check it, failed") && i%8 == 7 {
				pause(ctx, 100*time.Millisecond) // until the breaker tries it again
			}
		}
		return nil
	})(ctx, s)
}
