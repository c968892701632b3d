package dispatch

import (
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
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "slow"}, {Name: "gives-up"}}, timeout: 300 * time.Millisecond}
	d := start(t, Options{}, f)
	f.onCall = func(q *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		if q.GetName() == "gives-up" {
			return status.Error(codes.DeadlineExceeded, "the database is slow")
		}
		<-s.Context().Done()
		return s.Context().Err()
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
