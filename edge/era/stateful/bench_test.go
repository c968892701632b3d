package stateful

import (
	"context"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/memory"
)

// discard is a transport that drops everything.
type discard struct{ session string }

func (d *discard) Session(id string)         { d.session = id }
func (d *discard) Respond(mcp.Response)      {}
func (d *discard) Accept()                   {}
func (d *discard) Open() (mcp.Stream, error) { panic("a direct call was opened") }

// hotPath returns a function that runs a call in a session with a direct response.
func hotPath(t testing.TB) func() {
	m := memory.New(state.Limits{})
	t.Cleanup(m.Close)
	be := newBackend()
	be.tools["echo"] = func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
		return mcp.Reply{Result: []byte(`{"content":[]}`)}, nil
	}
	e := New(quiet{be}, be, func(h medium.Hooks) medium.Store { return m.Store("a", h) }, Options{})
	t.Cleanup(e.Close)
	ctx := t.Context()
	d := &discard{}
	e.Message(ctx, &mcp.Incoming{}, mustParse(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`), d)
	in := &mcp.Incoming{Session: d.session}
	msg := mustParse(callTool(1, "echo"))
	return func() { e.Message(ctx, in, msg, d) }
}

func BenchmarkDirectCall(b *testing.B) {
	call := hotPath(b)
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}

// TestDirectCallAllocates bounds the allocations of the era on the hot path.
func TestDirectCallAllocates(t *testing.T) {
	if n := testing.AllocsPerRun(1000, hotPath(t)); n > 11 {
		t.Errorf("a direct call makes %v allocations, want at most 11", n)
	}
}

// quiet does not record calls.
type quiet struct{ *backend }

var quietTarget = mcp.Target{Backend: "fake", Known: true}

func (quiet) Resolve(context.Context, *revision.Rules, *mcp.Call) (*mcp.Target, error) {
	return &quietTarget, nil
}

func (q quiet) Call(ctx context.Context, _ *revision.Rules, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
	return q.tools[c.Params.Target](ctx, c, sink)
}
