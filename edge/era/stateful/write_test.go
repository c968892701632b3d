package stateful

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// A burst of events is on the stream in order, before the response, and takes few writes to the
// store.
func TestEventsThatWaitGoWithTheResponse(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		var events []string
		for i := range 20 {
			events = append(events, progressMessage(float64(i)))
		}
		w.backend.tools["burst"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			for i := range 20 {
				if err := sink.Emit(ctx, progress(float64(i))); err != nil {
					return mcp.Reply{}, err
				}
			}
			return text("ok"), nil
		}
		x := w.post(w.a, s, callTool(1, "burst"))
		after(time.Second)
		w.wantMessages(x, append(events, `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`)...)
		w.faults.mu.Lock()
		defer w.faults.mu.Unlock()
		if w.faults.commits > 10 {
			t.Errorf("20 events that came at once took %d writes", w.faults.commits)
		}
	})
}

// A call that ends while its first events wait takes one write. One that takes longer has a record
// before its end.
func TestQuickCallsAreOneWrite(t *testing.T) {
	for _, version := range []string{v1125, v0618} {
		inWorld(t, Options{}, func(t *testing.T, w *world) {
			s := w.initialize(version)
			var pause time.Duration
			w.backend.tools["burst"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
				for i := range 2 {
					if err := sink.Emit(ctx, progress(float64(i))); err != nil {
						return mcp.Reply{}, err
					}
				}
				time.Sleep(pause)
				return text("ok"), nil
			}
			for i, c := range []struct {
				pause  time.Duration
				writes int
			}{{flushed - 1, 1}, {flushed + 1, 4}, {0, 5}} {
				pause = c.pause
				x := w.post(w.a, s, callTool(i+1, "burst"))
				after(time.Second)
				w.wantMessages(x, progressMessage(0), progressMessage(1), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"text":"ok"}}`, i+1))
				if !x.ended() {
					t.Errorf("after %v the exchange continues", pause)
				}
				if n := w.faults.commits; n != c.writes {
					t.Errorf("after %v there were %d writes in all, want %d", pause, n, c.writes)
				}
				// The stream is in the store for every replica.
				y := w.listen(w.b, s, idBehind(t, x, ^uint64(1)))
				w.wantMessages(y, x.messages()[1:]...)
			}
			if n := w.a.Counters().Queued.Load(); n != 0 {
				t.Errorf("%d events wait", n)
			}
		})
	}
}

// A large result in a log takes no more memory than is charged.
func TestKeptResultsHaveNoRoom(t *testing.T) {
	for _, pause := range []time.Duration{0, 2 * flushed} { // with a concluding write, and with a finishing write
		inWorld(t, Options{}, func(t *testing.T, w *world) {
			s := w.initialize(v1125)
			w.backend.tools["large"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
				_ = sink.Emit(ctx, progress(1))
				time.Sleep(pause)
				result := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 600_000))
				return c.Envelope.Reply(append(c.Envelope.Begin(len(result)), result...)), nil
			}
			x := w.post(w.a, s, callTool(1, "large"))
			after(time.Second)
			stream, _, _ := strings.Cut(x.lastID(), ".")
			page, err := w.faults.Read(t.Context(), s, stream, medium.Position{}, 0)
			if err != nil || len(page.Entries) != 2 {
				t.Fatalf("the log has %d entries: %v", len(page.Entries), err)
			}
			if data := page.Entries[1].Data; len(data) < 600_000 || cap(data) > len(data)+len(data)/8 {
				t.Errorf("after %v, %d bytes are kept with room for %d", pause, len(data), cap(data))
			}
		})
	}
}

// If no log can be begun, waiting events are dropped, and the response is the body of the exchange.
func TestEventsThatWaitInVain(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["burst"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			w.faults.set(true, false)
			for i := range 20 {
				if err := sink.Emit(ctx, progress(float64(i))); err != nil {
					return mcp.Reply{}, err
				}
			}
			return text("ok"), nil
		}
		x := w.post(w.a, s, callTool(1, "burst"))
		after(time.Second)
		w.wantBody(x, `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`)
		if n, waits := w.a.Counters().DroppedUnread.Load(), w.a.Counters().Queued.Load(); n != 20 || waits != 0 {
			t.Errorf("%d events were dropped and %d wait, want 20 and none", n, waits)
		}
	})
}
