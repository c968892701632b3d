package stateful

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

func TestInitialize(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		x := w.post(w.a, "", `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`)
		w.wantBody(x, `{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-06-18","capabilities":{"resources":{"subscribe":true}},`+
			`"serverInfo":{"name":"edge"},"instructions":"be nice"}}`)
		if len(x.session) < 26 {
			t.Errorf("session id %q is too short", x.session)
		}
		for _, asked := range []string{"2026-07-28", "1999-01-01"} {
			x := w.post(w.a, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+asked+`"}}`)
			if !strings.Contains(x.body(), `"protocolVersion":"2025-11-25"`) {
				t.Errorf("asked for %s: %s", asked, x.body())
			}
		}
		for _, params := range []string{`{}`, `{"protocolVersion":1}`, `{"protocolVersion":"2025-06-18","capabilities":[]}`, `{"protocolVersion":"2025-06-18","clientInfo":1}`} {
			x := w.post(w.a, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+params+`}`)
			w.wantKind(x, mcp.KindInvalidParams)
		}
	})
}

// The data that a session stores about its client is bounded, because no client is authenticated
// yet.
func TestClientDeclarationsAreBounded(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		for size, fits := range map[int]bool{mcp.MaxClientInfo - 100: true, mcp.MaxClientInfo: false} {
			x := w.post(w.a, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
				`"capabilities":{"experimental":{"a":"`+strings.Repeat("x", size)+`"}},"clientInfo":{"name":"c","version":"1"}}}`)
			if fits != (x.session != "") {
				t.Errorf("capabilities of %d bytes: %.200s", size, x.body())
			}
			if !fits {
				w.wantKind(x, mcp.KindInvalidParams)
			}
		}
	})
}

func TestSessionIsRequiredAndOwned(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		w.wantBody(w.post(w.a, s, ping), `{"jsonrpc":"2.0","id":1,"result":{}}`)
		w.wantBody(w.post(w.b, s, ping), `{"jsonrpc":"2.0","id":1,"result":{}}`)
		w.wantKind(w.post(w.a, "", ping), mcp.KindSessionRequired)
		w.wantKind(w.post(w.a, "nope", ping), mcp.KindSessionNotFound)
		w.wantKind(w.post(w.a, strings.Repeat("x", 500), ping), mcp.KindSessionNotFound)
		w.wantKind(w.listen(w.a, "", ""), mcp.KindNoStream)
		w.wantKind(w.listen(w.a, "", "abc.1.0"), mcp.KindSessionRequired)
		w.who = mcp.Principal{Subject: "eve", Issuer: "https://i"}
		w.wantKind(w.post(w.a, s, ping), mcp.KindSessionNotFound)
		w.wantKind(w.post(w.b, s, ping), mcp.KindSessionNotFound)
		w.wantKind(w.listen(w.a, s, ""), mcp.KindSessionNotFound)
		w.wantKind(w.end(w.a, s), mcp.KindSessionNotFound)
	})
}

func TestVersionHeader(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		for _, v := range []string{"latest", "2026-07-28"} {
			w.header["Mcp-Protocol-Version"] = v
			w.wantKind(w.post(w.a, s, callTool(1, "echo")), mcp.KindUnsupportedVersion)
			w.wantKind(w.post(w.a, "", callTool(1, "echo")), mcp.KindUnsupportedVersion)
			w.wantKind(w.listen(w.a, s, ""), mcp.KindUnsupportedVersion)
			w.wantKind(w.end(w.a, s), mcp.KindUnsupportedVersion)
		}
		w.header["Mcp-Protocol-Version"] = v0618
		w.wantBody(w.post(w.a, s, callTool(1, "echo")), `{"jsonrpc":"2.0","id":1,"result":{"text":"{\"n\":1}"}}`)
	})
}

func TestDirectCall(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.wantBody(w.post(w.a, s, callTool(7, "echo")), `{"jsonrpc":"2.0","id":7,"result":{"text":"{\"n\":7}"}}`)
		c := w.backend.seen()[0]
		if len(c.ID) < 26 || c.Round != 1 || c.Attempt != 1 || c.Header != nil || !c.Client.Capabilities.ElicitURL {
			t.Errorf("call is %+v", c)
		}
		x := w.post(w.a, s, callTool(8, "missing"))
		w.wantKind(x, mcp.KindMethodNotFound)
		for _, m := range []string{"server/discover", "subscriptions/listen"} {
			w.wantKind(w.post(w.a, s, `{"jsonrpc":"2.0","id":1,"method":"`+m+`"}`), mcp.KindMethodNotFound)
		}
		w.wantKind(w.post(w.a, s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":1}}`), mcp.KindInvalidParams)
		if n := w.medium.Stats().Streams; n != 0 {
			t.Errorf("direct calls left %d streams", n)
		}
	})
}

func TestSlowCallBecomesStream(t *testing.T) {
	for _, v := range []string{v2024, v0618, v1125} {
		inWorld(t, Options{}, func(t *testing.T, w *world) {
			s := w.initialize(v)
			w.backend.tools["slow"] = func(ctx context.Context, _ *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
				time.Sleep(40 * time.Second)
				return text("late"), ctx.Err()
			}
			x := w.post(w.a, s, callTool(1, "slow"))
			after(900 * time.Millisecond)
			if x.streaming() {
				t.Fatal("opened too early")
			}
			after(200 * time.Millisecond)
			if !x.streaming() {
				t.Fatal("not opened")
			}
			evs := x.all()
			primed := len(evs) == 1 && evs[0].ID != "" && len(evs[0].Data) == 0
			if primed != (v == v1125) {
				t.Errorf("%s: events at first are %v", v, evs)
			}
			// A stream opens with an event if one is due, and otherwise with a keep-alive.
			begun := 0
			if !primed {
				begun = 1
			}
			if x.alive() != begun {
				t.Errorf("%s: %d keep-alives at first", v, x.alive())
			}
			after(time.Minute)
			w.wantMessages(x, `{"jsonrpc":"2.0","id":1,"result":{"text":"late"}}`)
			if !x.ended() || x.alive() != begun+2 {
				t.Errorf("ended %t, %d keep-alives", x.ended(), x.alive())
			}
		})
	}
}

func TestEventsAreInTheLogAndInOrder(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["busy"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			for i := range 5 {
				if err := sink.Emit(ctx, progress(float64(i))); err != nil {
					return mcp.Reply{}, err
				}
			}
			return text("done"), sink.Emit(ctx, mcp.Event{Method: mcp.NotifyMessage, Params: []byte(`{"level":"info"}`)})
		}
		x := w.post(w.a, s, callTool(1, "busy"))
		want := []string{progressMessage(0), progressMessage(1), progressMessage(2), progressMessage(3), progressMessage(4),
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"text":"done"}}`}
		w.wantMessages(x, want...)
		ids := map[string]bool{}
		for i, ev := range x.all() {
			if ids[ev.ID] || ev.ID == "" {
				t.Errorf("event %d has id %q", i, ev.ID)
			}
			ids[ev.ID] = true
		}
		// The stream is cut and resumed at every event, on the other replica, without a gap or a
		// duplicate.
		for i, ev := range x.all() {
			y := w.listen(w.b, s, ev.ID)
			w.wantMessages(y, want[i:]...)
			if !y.ended() {
				t.Error("a finished stream continues")
			}
		}
	})
}

func TestClientThatLeavesDoesNotCancel(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		finished := 0
		w.backend.tools["slow"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			time.Sleep(10 * time.Second)
			_ = sink.Emit(ctx, progress(1))
			finished++
			return text("late"), ctx.Err()
		}
		direct := w.post(w.a, s, callTool(1, "slow"))
		direct.cancel()
		after(time.Second) // the time after which it would become a stream
		if !direct.ended() || !direct.accepted {
			t.Error("the exchange did not end with its client")
		}
		streamed := w.post(w.a, s, callTool(2, "slow"))
		after(2 * time.Second)
		id := streamed.lastID()
		streamed.cancel()
		after(time.Millisecond)
		if !streamed.ended() {
			t.Error("the stream did not end with its client")
		}
		resumed := w.listen(w.b, s, id)
		after(15 * time.Second)
		if finished != 2 {
			t.Errorf("%d of 2 calls ran to their end", finished)
		}
		w.wantMessages(resumed, progressMessage(1), `{"jsonrpc":"2.0","id":2,"result":{"text":"late"}}`)
		if n := w.medium.Stats().Streams; n != 1 {
			t.Errorf("%d streams, want one: no other replica knows the direct call", n)
		}
	})
}

func TestDuplicateRequestID(t *testing.T) {
	inWorld(t, Options{MaxCallsPerSession: 2}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["slow"] = func(ctx context.Context, _ *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			time.Sleep(500 * time.Millisecond)
			return text("late"), nil
		}
		x := w.post(w.a, s, callTool(1, "slow"))
		w.wantKind(w.post(w.a, s, callTool(1, "echo")), mcp.KindInvalidRequest)
		// Equal ids of other sessions, or of the other type, do not conflict.
		other := w.initialize(v1125)
		w.wantBody(w.post(w.a, other, callTool(1, "echo")), `{"jsonrpc":"2.0","id":1,"result":{"text":"{\"n\":1}"}}`)
		w.post(w.a, s, callTool(2, "slow"))
		w.wantKind(w.post(w.a, s, callTool(3, "echo")), mcp.KindLimit)
		after(time.Second)
		w.wantBody(x, `{"jsonrpc":"2.0","id":1,"result":{"text":"late"}}`)
		w.wantKind(w.post(w.a, s, callTool(1, "echo")), mcp.KindNone)
	})
}

func TestRequestIDOfAWaitingCallIsTaken(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		w.wantKind(w.post(w.a, s, callTool(1, "echo")), mcp.KindInvalidRequest)
		ids, _ := asked(t, x)
		w.wantAccepted(w.post(w.a, s, answer(ids[0], `{}`)))
		if !x.ended() {
			t.Fatal("the answered call runs")
		}
		w.wantKind(w.post(w.a, s, callTool(1, "echo")), mcp.KindNone)
	})
}

// The client may reuse an id once it has the response.
func TestRequestIDIsFreeWithTheResponse(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			return text("ok"), sink.Emit(ctx, progress(1))
		}
		w.backend.tools["ask"] = asking(elicit("name"))
		for _, name := range []string{"echo", "say", "ask"} {
			again := &client{done: make(chan struct{})}
			x := w.begin(func(ctx context.Context, x *client) {
				x.onResponse = func() {
					w.a.Message(ctx, w.incoming(s), mustParse(callTool(1, "echo")), again)
				}
				w.a.Message(ctx, w.incoming(s), mustParse(callTool(1, name)), x)
			})
			after(time.Millisecond)
			if ids, _ := asked(t, x); len(ids) > 0 {
				w.wantAccepted(w.post(w.b, s, answer(ids[0], `{}`)))
				after(2 * time.Second)
			}
			if again.kind() != mcp.KindNone || again.body() == "" {
				t.Errorf("%s: the id is not free: %s", name, again.body())
			}
		}
	})
}

func TestPanicEndsOneCall(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["boom"] = func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) { panic("boom") }
		w.wantBody(w.post(w.a, s, callTool(1, "boom")), `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`)
	})
}

func TestFreeOnTheRequestsPath(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.wantKind(w.post(w.a, s, callTool(1, "echo")), mcp.KindNone)
		w.faults.set(true, false)
		after(20 * time.Second)
		w.wantKind(w.post(w.a, s, callTool(2, "echo")), mcp.KindNone)
		after(11 * time.Second)
		w.wantKind(w.post(w.a, s, callTool(3, "echo")), mcp.KindStateUnavailable)
		w.faults.set(false, false)
		w.wantKind(w.post(w.a, s, callTool(4, "echo")), mcp.KindNone)
	})
}

func TestStateDownInMidCall(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["busy"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			err := sink.Emit(ctx, progress(1))
			time.Sleep(5 * time.Second)
			return text("done"), err
		}
		w.backend.tools["ask"] = asking(elicit("name"))
		w.faults.set(true, false)
		// Without a record, progress is dropped and the response is JSON.
		x := w.post(w.a, s, callTool(1, "busy"))
		refused := w.post(w.a, s, callTool(2, "ask"))
		w.wantKind(refused, mcp.KindStateUnavailable)
		if !strings.Contains(refused.body(), "the call had begun") {
			t.Errorf("the error does not say that the backend was called: %s", refused.body())
		}
		after(6 * time.Second)
		w.wantBody(x, `{"jsonrpc":"2.0","id":1,"result":{"text":"done"}}`)
		if w.a.Counters().DroppedUnread.Load() != 1 {
			t.Error("the dropped event was not counted")
		}
		// With a record, the response is held until the store accepts it.
		w.faults.set(false, false)
		x = w.post(w.a, s, callTool(3, "busy"))
		w.faults.set(true, false)
		after(6 * time.Second)
		if x.ended() {
			t.Fatal("ended without its response")
		}
		w.faults.set(false, false)
		after(3 * time.Second)
		got := x.messages()
		if !x.ended() || len(got) != 2 || !strings.Contains(got[1], `"id":3`) {
			t.Errorf("messages are %v", got)
		}
	})
}

func TestStdioSendsOnlyAnswers(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.header = nil
		x := w.begin(func(ctx context.Context, x *client) {
			in := &mcp.Incoming{}
			w.a.Message(ctx, in, mustParse(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), x)
		})
		<-x.done
		w.wantAccepted(x)
	})
}
