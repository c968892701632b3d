package dispatch

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// TestCauseOfTimeouts: a call that a bound of the edge ended has a cause that names the bound. A
// timeout that the backend reports itself has no cause.
func TestCauseOfTimeouts(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "slow"}}, timeout: 300 * time.Millisecond}
	g := &fake{name: "two", tools: []*pb.Tool{{Name: "gives-up"}}}
	d := start(t, Options{}, f, g)
	f.onCall = func(_ *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		<-s.Context().Done()
		return s.Context().Err()
	}
	g.onCall = func(*pb.CallToolRequest, grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		return status.Error(codes.DeadlineExceeded, "the database is slow")
	}
	cause := func(tool string, task *mcp.CallTask) string {
		t.Helper()
		call := request(t, mcp.MethodToolsCall, `{"name":"`+tool+`"}`)
		call.Task = task
		_, err := d.Call(t.Context(), rules(t, modern), call, &events{})
		if kindOf(t, err) != mcp.KindTimeout {
			t.Fatal(err)
		}
		return mcp.AsError(err).Cause().Error()
	}
	if got, want := cause("slow", nil), "the round took longer than the backend's timeout of 300ms: "; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := cause("slow", &mcp.CallTask{Until: time.Now().Add(200 * time.Millisecond)}), "the round took longer than the task may live: "; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := cause("gives-up", nil); strings.Contains(got, "the round took longer") || !strings.Contains(got, "the database is slow") {
		t.Errorf("%q names a bound of the edge", got)
	}
}

// until is a sink that takes events until the end of the round.
type until struct{}

func (until) Emit(ctx context.Context, _ mcp.Event) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestTimeoutDuringEvents: a call that its deadline ends while an event is delivered has timed out, and was not cancelled by its client.
func TestTimeoutDuringEvents(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "slow"}}, timeout: 300 * time.Millisecond}
	d := start(t, Options{}, f)
	f.onCall = func(_ *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		if err := s.Send(&pb.CallToolResponse{Message: &pb.CallToolResponse_Progress{Progress: &pb.Progress{Progress: 1}}}); err != nil {
			return err
		}
		<-s.Context().Done()
		return s.Context().Err()
	}
	call := func(ctx context.Context) error {
		_, err := d.Call(ctx, rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"slow","_meta":{"progressToken":1}}`), until{})
		return err
	}
	if err := call(t.Context()); kindOf(t, err) != mcp.KindTimeout {
		t.Errorf("after its timeout: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := call(ctx); kindOf(t, err) != mcp.KindCancelled {
		t.Errorf("of a client that left: %v", err)
	}
}
