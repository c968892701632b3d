package stateful

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// Every test of this package checks that calls leave no charge behind: see wantReleased.

// Each replica's copy of a session is charged if the store keeps the original elsewhere. The charge
// is released with the session, or with the eviction of the copy.
func TestCopiesAreCharged(t *testing.T) {
	inLimits(t, Options{ChargeCopies: true}, state.Limits{SessionTTL: time.Hour}, func(t *testing.T, w *world) {
		used := func() int64 { return w.memory.UsedFor(budget.Sessions) }
		stored := func(ids ...string) (n int64) {
			for _, id := range ids {
				rec, err := w.store("look").Load(t.Context(), id, true)
				if err != nil {
					t.Fatal(err)
				}
				n += int64(rec.Bytes())
			}
			return n
		}
		one := w.initialize(v1125)
		first := used()
		if first < stored(one)+copyBytes {
			t.Fatalf("%d bytes are held for a session and a copy", first)
		}
		x := w.post(w.b, one, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///1"}}`)
		if !strings.Contains(x.body(), "result") {
			t.Fatal(x.body())
		}
		if second := used(); second < first+copyBytes+int64(len("file:///1")) {
			t.Errorf("%d bytes are held with the copy of another replica, %d without", second, first)
		}
		if holder := mcp.HolderOf(w.memory, w.who, w.incoming("").Address); holder.Used() != used() {
			t.Errorf("the holder is charged with %d bytes, of %d", holder.Used(), used())
		}
		w.wantAccepted(w.end(w.a, one))
		after(time.Minute)
		if n := used(); n != 0 {
			t.Errorf("%d bytes are held for a session that has ended", n)
		}
		w.initialize(v1125)
		after(3 * time.Hour)
		synctest.Wait()
		if n := used(); n != 0 {
			t.Errorf("%d bytes are held for a session that has expired", n)
		}
	})
}

// A stream is charged with the unread data that was sent. Without room in the budget, one stream at
// a time is still sent, however much its client holds. The next one is sent after the first one's
// time.
func TestUnreadStreamsAreCharged(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		const large = 1 << 20
		w.backend.tools["chatty"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			if err := sink.Emit(ctx, mcp.Event{Method: mcp.NotifyProgress, Params: []byte(`{"progressToken":1,"progress":1}`), Progress: 1}); err != nil {
				return mcp.Reply{}, err
			}
			time.Sleep(time.Second)
			return text(strings.Repeat("x", large)), nil
		}
		session := w.initialize(v1125)
		begin := func(id int, unread chan struct{}) *client {
			in := w.received(session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"chatty","_meta":{"progressToken":1}}}`, id))
			msg, err := jsonrpc.Parse(in.Body)
			if err != nil {
				t.Fatal(err)
			}
			return w.begin(func(ctx context.Context, x *client) {
				defer in.Memory.Release()
				x.onResponse = func() { <-unread }
				w.a.Message(ctx, in, msg, x)
			})
		}
		const stream, two = eventCopies * large, 2 * eventCopies * large
		held := func() int64 { return w.memory.UsedFor(budget.Streams) }

		unread := make(chan struct{})
		x := begin(1, unread)
		after(10 * time.Second)
		if n := held(); n < stream || n >= two {
			t.Errorf("%d bytes are held for a stream of %d without a reader", n, large)
		}
		close(unread)
		after(time.Second)
		if n := held(); n != 0 || !strings.Contains(strings.Join(x.messages(), ""), "xxx") {
			t.Errorf("%d bytes are held for a stream that was read", n)
		}

		unread = make(chan struct{})
		begin(2, unread)
		begin(3, unread)
		synctest.Wait()
		hog := mcp.HolderOf(w.memory, w.who, w.incoming("").Address).Begin()
		hog.Force(budget.Calls, w.memory.Limit())
		after(2 * time.Second)
		if n := held(); n < stream || n >= two {
			t.Errorf("%d bytes are held for two streams of %d without room", n, large)
		}
		after(3 * time.Second)
		if n := held(); n < two {
			t.Errorf("%d bytes are held for two streams of %d: the second waits for the first for ever", n, large)
		}
		close(unread)
		hog.Release()
	})
}

// A stream keeps neither the body of its request nor the charge for it.
func TestStreamReleasesTheBody(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["slow"] = func(_ context.Context, _ *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			time.Sleep(time.Hour)
			return text("done"), nil
		}
		const large = 1 << 20
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"x":%q}}}`, strings.Repeat("x", large))
		before := w.memory.UsedFor(budget.Requests)
		x := w.post(w.a, s, body)
		if n := w.memory.UsedFor(budget.Requests) - before; n < large {
			t.Errorf("%d bytes are held for a request of %d", n, len(body))
		}
		if n := w.memory.UsedFor(budget.Calls); n < copies*large {
			t.Errorf("%d bytes are held for the params of a call, of %d", n, large)
		}
		after(time.Minute)
		if !x.streaming() {
			t.Fatal("there is no stream")
		}
		if n := w.memory.UsedFor(budget.Requests); n >= large {
			t.Errorf("%d bytes are held for a request whose stream is open", n)
		}
		after(time.Hour)
	})
}

// Without room in the budget, messages that begin work are refused. Messages that free memory, and
// admitted ones, are not.
func TestRefusedWithoutRoom(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		hog := mcp.HolderOf(w.memory, w.who, w.incoming("").Address).Begin()
		hog.Force(budget.Logs, w.memory.Limit())
		w.wantKind(w.post(w.a, s, callTool(1, "echo")), mcp.KindOverloaded)
		w.wantKind(w.post(w.a, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`), mcp.KindOverloaded)
		if n := len(w.backend.seen()); n != 0 {
			t.Errorf("%d calls were begun", n)
		}
		w.wantBody(w.post(w.a, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`), `{"jsonrpc":"2.0","id":2,"result":{}}`)
		w.wantAccepted(w.post(w.a, s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`))
		hog.Release()
		if x := w.post(w.a, s, callTool(3, "echo")); !strings.Contains(x.body(), `"result"`) {
			t.Errorf("with room again: %s", x.body())
		}
	})
}

// A caller whose results exceed the budget, because they could not be refused, does not prevent
// other callers' calls.
func TestResultsOfOneRefuseNoOthers(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.who = mcp.Principal{Subject: "hog"}
		hogs := w.initialize(v1125)
		w.backend.tools["large"] = func(ctx context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			c.Memory.Force(budget.Results, w.memory.Limit()) // The results of backends are in memory.
			<-ctx.Done()
			return mcp.Reply{}, ctx.Err()
		}
		large := w.post(w.a, hogs, callTool(1, "large"))
		w.wantKind(w.post(w.a, hogs, callTool(2, "echo")), mcp.KindOverloaded)
		w.who = mcp.Principal{Subject: "honest"}
		session := w.initialize(v1125)
		for i := range 50 {
			if x := w.post(w.a, session, callTool(10+i, "echo")); !strings.Contains(x.body(), `"result"`) {
				t.Fatalf("another's call %d: %s", i, x.body())
			}
		}
		w.who = mcp.Principal{Subject: "hog"}
		w.wantAccepted(w.post(w.a, hogs, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
		after(time.Minute)
		if !large.ended() || w.memory.UsedFor(budget.Results) != 0 {
			t.Errorf("%d bytes are held for a call that was cancelled", w.memory.UsedFor(budget.Results))
		}
	})
}
