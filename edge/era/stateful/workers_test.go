package stateful

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/memory"
)

// Goroutines wait for the next call, not more than are bounded, and none once there were no calls for a while.
func TestWorkersWaitAndLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(state.Limits{})
		defer m.Close()
		be := newBackend()
		be.tools["slow"] = func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			time.Sleep(100 * time.Millisecond)
			return mcp.Reply{Result: []byte(`{"content":[]}`)}, nil
		}
		e := New(quiet{be}, m.Replica("a"), Options{})
		defer e.Close()
		e.Start(t.Context())
		d := &discard{apart: true}
		e.Message(t.Context(), &mcp.Incoming{}, mustParse(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`), d)
		in := &mcp.Incoming{Session: d.session}
		for i := range 2 * idleWorkers {
			go e.Message(t.Context(), in, mustParse(callTool(i+1, "slow")), d)
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if n := e.workers.idle.Load(); n != idleWorkers {
			t.Errorf("%d wait, want %d", n, idleWorkers)
		}
		e.Message(t.Context(), in, mustParse(callTool(1, "slow")), d)
		synctest.Wait()
		if n := e.workers.idle.Load(); n != idleWorkers {
			t.Errorf("%d wait after one more call, want %d", n, idleWorkers)
		}
		time.Sleep(10 * e.o.Heartbeat)
		synctest.Wait()
		if n := e.workers.idle.Load(); n != 0 {
			t.Errorf("%d wait after ten heartbeats without a call", n)
		}
	})
}
