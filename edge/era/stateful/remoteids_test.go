package stateful

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// saying is a tool that sends one event, so that its call has a record, and runs for 10 s.
func saying(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
	if err := sink.Emit(ctx, progress(1)); err != nil {
		return mcp.Reply{}, err
	}
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
	}
	return text("ok"), ctx.Err()
}

// A request that is sent again to another replica while its call has a record does not run again.
// The id is in use on both replicas, and free on both with the response.
func TestRequestIDIsInUseElsewhere(t *testing.T) {
	for _, version := range []string{v2024, v0326, v0618, v1125} {
		for _, held := range []bool{true, false} {
			t.Run(fmt.Sprint(version, " held ", held), func(t *testing.T) {
				inWorld(t, Options{}, func(t *testing.T, w *world) {
					s := w.initialize(version)
					w.backend.tools["say"] = saying
					if held {
						w.wantKind(w.post(w.b, s, callTool(1, "echo")), mcp.KindNone)
					}
					x := w.post(w.a, s, callTool(2, "say"))
					before := len(w.backend.seen())
					for range 2 {
						w.wantKind(w.post(w.a, s, callTool(2, "say")), mcp.KindInvalidRequest)
						w.wantKind(w.post(w.b, s, callTool(2, "say")), mcp.KindInvalidRequest)
					}
					if a, b := w.post(w.a, s, callTool(2, "say")).body(), w.post(w.b, s, callTool(2, "say")).body(); a != b {
						t.Errorf("the replica that runs the call says %s, another %s", a, b)
					}
					w.wantKind(w.post(w.b, s, callTool(3, "echo")), mcp.KindNone)
					if n := len(w.backend.seen()) - before; n != 1 {
						t.Errorf("the backend was called %d times more, want once, for another id", n)
					}
					after(11 * time.Second)
					if !x.ended() {
						t.Fatal("the call continues")
					}
					w.wantKind(w.post(w.b, s, callTool(2, "echo")), mcp.KindNone)
				})
			})
		}
	}
}

// A request of a batch whose id is in use elsewhere is refused; the other requests run.
func TestRequestIDOfABatchIsInUseElsewhere(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v0326)
		w.backend.tools["say"] = saying
		w.post(w.a, s, "["+callTool(1, "say")+","+callTool(2, "say")+"]")
		x := w.post(w.b, s, "["+callTool(2, "echo")+","+callTool(3, "echo")+"]")
		w.wantBody(x, `[{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"the request id 2 is in use by a request that still runs; use a new one"}},`+
			`{"jsonrpc":"2.0","id":3,"result":{"text":"{\"n\":3}"}}]`)
		after(11 * time.Second)
	})
}

// The id of a call that waits for its client is in use on every replica until the call has ended,
// even if its client has disconnected.
func TestRequestIDOfALeftCallIsTaken(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		x.cancel()
		after(time.Millisecond)
		for _, e := range []*Era{w.a, w.b} {
			w.wantKind(w.post(e, s, callTool(1, "echo")), mcp.KindInvalidRequest)
		}
		w.wantAccepted(w.post(w.b, s, answer(ids[0], `{}`)))
		after(time.Millisecond)
		for _, e := range []*Era{w.a, w.b} {
			w.wantKind(w.post(e, s, callTool(1, "echo")), mcp.KindNone)
		}
	})
}

// The id of a call that was taken over is in use at the replica that lost the call. A replica that
// only holds the session learns the ids of all other calls with the takeover.
func TestRequestIDOfALostCallIsTaken(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		w.backend.tools["safe"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			for i := range 3 {
				if err := sink.Emit(ctx, progress(float64(i+1))); err != nil {
					return mcp.Reply{}, err
				}
				time.Sleep(6 * time.Second)
			}
			return text("ok"), nil
		}
		waiting := w.post(w.a, s, callTool(1, "ask"))
		w.post(w.a, s, callTool(2, "safe"))
		w.faults.set(false, true)
		after(7 * time.Second)
		if n := len(w.backend.seen()); n != 3 {
			t.Fatalf("%d runs, want two and that of the takeover", n)
		}
		w.faults.set(false, false)
		for id := range 2 {
			for _, e := range []*Era{w.b, w.a} {
				w.wantKind(w.post(e, s, callTool(id+1, "echo")), mcp.KindInvalidRequest)
			}
		}
		after(20 * time.Second)
		w.wantKind(w.post(w.a, s, callTool(2, "echo")), mcp.KindNone)
		waiting.cancel()
	})
}

// While the store is unavailable, a request with an id that another replica is known to use is
// refused; other requests run.
func TestRequestIDInUseWithoutStore(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["say"] = saying
		w.wantKind(w.post(w.a, s, callTool(1, "echo")), mcp.KindNone)
		w.wantKind(w.post(w.b, s, callTool(2, "echo")), mcp.KindNone)
		w.post(w.b, s, callTool(3, "say"))
		w.faults.set(true, false)
		w.wantKind(w.post(w.a, s, callTool(3, "echo")), mcp.KindStateUnavailable)
		w.wantKind(w.post(w.a, s, callTool(4, "echo")), mcp.KindNone)
		w.faults.set(false, false)
		w.wantKind(w.post(w.a, s, callTool(3, "echo")), mcp.KindInvalidRequest)
		after(11 * time.Second)
	})
}

// The hints of a replica are bounded. Beyond the bound the replica queries the store once.
func TestRequestIDsElsewhereAreBounded(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["say"] = saying
		w.backend.tools["word"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			return text("ok"), sink.Emit(ctx, progress(1))
		}
		w.wantKind(w.post(w.a, s, callTool(1, "echo")), mcp.KindNone)
		w.wantKind(w.post(w.b, s, callTool(1, "echo")), mcp.KindNone)
		w.post(w.b, s, callTool(2, "say"))
		for i := range maxRemoteIDs {
			w.post(w.b, s, callTool(10+i, "word"))
		}
		if n := len(w.a.sessions.get(s).remoteIDs.ids); n > maxRemoteIDs {
			t.Errorf("%d ids are held", n)
		}
		w.wantKind(w.post(w.a, s, callTool(2, "echo")), mcp.KindInvalidRequest)
		loads := w.faults.loaded()
		w.wantKind(w.post(w.a, s, callTool(3, "echo")), mcp.KindNone)
		if n := w.faults.loaded() - loads; n != 0 {
			t.Errorf("an id that was never used took %d loads", n)
		}
		after(11 * time.Second)
	})
}
