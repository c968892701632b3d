package dispatch

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// If a connection breaks after the call was sent, the outcome is unknown, unless the tool may be
// run again. A call that could not be sent may be retried.
func TestConnectionsThatBreak(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		tool   *pb.Tool
		before []*pb.CallToolResponse
		kind   mcp.Kind
	}{
		"at once":        {&pb.Tool{Name: "t"}, nil, mcp.KindUnknownOutcome},
		"after an event": {&pb.Tool{Name: "t"}, []*pb.CallToolResponse{progress(1)}, mcp.KindUnknownOutcome},
		"only reads":     {&pb.Tool{Name: "t", Annotations: &pb.ToolAnnotations{ReadOnly: &yes}}, nil, mcp.KindUnavailable},
		"is idempotent":  {&pb.Tool{Name: "t", Annotations: &pb.ToolAnnotations{Idempotent: &yes}}, nil, mcp.KindUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{name: "one", tools: []*pb.Tool{c.tool}}
			d := start(t, Options{}, f)
			f.onCall = func(_ *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
				for _, m := range c.before {
					if err := s.Send(m); err != nil {
						return err
					}
				}
				go f.server.Stop()
				<-s.Context().Done()
				return s.Context().Err()
			}
			call := request(t, mcp.MethodToolsCall, `{"name":"t"}`)
			_, err := d.Call(t.Context(), rules(t, modern), call, &events{})
			if kind := kindOf(t, err); kind != c.kind {
				t.Fatalf("kind %v, want %v: %v", kind, c.kind, err)
			}
			if c.kind == mcp.KindUnknownOutcome && !strings.Contains(err.Error(), "whether tools/call took effect is not known") {
				t.Error(err)
			}
			if _, err = d.Call(t.Context(), rules(t, modern), call, &events{}); kindOf(t, err) != mcp.KindUnavailable {
				t.Errorf("one that could not be sent: %v", err)
			}
		})
	}
}

// If the server's library cancels a call, as gRPC's C core does during a shutdown, the outcome is
// unknown, unless the tool may be run again.
func TestCallsThatAreDropped(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		tool *pb.Tool
		kind mcp.Kind
		said string
	}{
		"has effects":   {&pb.Tool{Name: "t"}, mcp.KindUnknownOutcome, "whether tools/call took effect is not known"},
		"only reads":    {&pb.Tool{Name: "t", Annotations: &pb.ToolAnnotations{ReadOnly: &yes}}, mcp.KindUnavailable, "try again later"},
		"is idempotent": {&pb.Tool{Name: "t", Annotations: &pb.ToolAnnotations{Idempotent: &yes}}, mcp.KindUnavailable, "try again later"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{name: "one", tools: []*pb.Tool{c.tool}}
			d := start(t, Options{}, f)
			f.onCall = func(*pb.CallToolRequest, grpc.ServerStreamingServer[pb.CallToolResponse]) error {
				return status.Error(codes.Canceled, "CANCELLED")
			}
			_, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"t"}`), &events{})
			if kind := kindOf(t, err); kind != c.kind || !strings.Contains(err.Error(), c.said) {
				t.Errorf("kind %v, want %v: %v", kind, c.kind, err)
			}
		})
	}
}
