package stateful

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

func batch(msgs ...string) string { return "[" + strings.Join(msgs, ",") + "]" }

func TestBatchAnsweredTogether(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v0326)
		x := w.post(w.a, s, batch(callTool(1, "echo"), `{"jsonrpc":"2.0","id":2,"method":"ping"}`, `7`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`, callTool(3, "echo"), callTool(3, "echo")))
		got := x.body()
		for _, want := range []string{`{"jsonrpc":"2.0","id":2,"result":{}}`, `"code":-32600`,
			`{"jsonrpc":"2.0","id":1,"result":{"text":"{\"n\":1}"}}`, `{"jsonrpc":"2.0","id":3,"result":{"text":"{\"n\":3}"}}`,
			`the request id 3 is in use`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %s", got, want)
			}
		}
		if !strings.HasPrefix(got, "[") || !strings.HasSuffix(got, "]") || strings.Count(got, `"jsonrpc"`) != 5 || !x.ended() {
			t.Errorf("body is %s", got)
		}
		w.wantAccepted(w.post(w.a, s, batch(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, answer(`"x"`, `{}`))))
	})
}

func TestBatchOnOneStream(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v0326)
		w.backend.tools["slow"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			time.Sleep(3 * time.Second)
			return text("late"), sink.Emit(ctx, progress(1))
		}
		x := w.post(w.a, s, batch(callTool(1, "echo"), callTool(2, "slow"), `{"jsonrpc":"2.0","id":3,"method":"ping"}`))
		after(2 * time.Second)
		got := x.messages()
		slices.Sort(got)
		want := []string{`{"jsonrpc":"2.0","id":1,"result":{"text":"{\"n\":1}"}}`, `{"jsonrpc":"2.0","id":3,"result":{}}`}
		if !slices.Equal(got, want) || x.ended() {
			t.Errorf("after 2 s: %v", got)
		}
		after(2 * time.Second)
		got = x.messages()
		if !x.ended() || len(got) != 4 || got[2] != progressMessage(1) || got[3] != `{"jsonrpc":"2.0","id":2,"result":{"text":"late"}}` {
			t.Errorf("messages are %v", got)
		}
	})
}

func TestBatchRefused(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		for _, v := range []string{v2024, v0618, v1125} {
			w.wantKind(w.post(w.a, w.initialize(v), batch(callTool(1, "echo"))), mcp.KindInvalidRequest)
		}
		s := w.initialize(v0326)
		w.wantKind(w.post(w.a, "", batch(callTool(1, "echo"))), mcp.KindSessionRequired)
		w.wantKind(w.post(w.a, s, batch(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)), mcp.KindInvalidRequest)
		if n := len(w.backend.seen()); n != 0 {
			t.Errorf("%d calls were made", n)
		}
	})
}

func TestBatchCancelledInPart(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v0326)
		ended := make(chan struct{}, 2)
		w.backend.tools["hang"] = untilCancelled(ended, false)
		x := w.post(w.a, s, batch(callTool(1, "echo"), callTool(2, "hang")))
		w.wantAccepted(w.post(w.a, s, cancelOf(2)))
		w.wantBody(x, `[{"jsonrpc":"2.0","id":1,"result":{"text":"{\"n\":1}"}}]`)
	})
}

func TestBatchRefusedInMidway(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v0326)
		w.faults.set(true, false)
		x := w.post(w.a, s, batch(callTool(1, "echo"), answer(`"x"`, `{}`)))
		w.wantKind(x, mcp.KindStateUnavailable)
		w.faults.set(false, false)
		// No call of the batch ran, and its request id is free.
		if n := len(w.backend.seen()); n != 0 {
			t.Errorf("%d calls were made", n)
		}
		w.wantKind(w.post(w.a, s, callTool(1, "echo")), mcp.KindNone)
	})
}

// Telemetry observes every request of a batch once, whether it is refused alone or with the whole
// batch.
func TestRefusedEntriesAreObserved(t *testing.T) {
	o := Options{MaxCallsPerSession: 1}
	spans := observed(t, &o)
	inWorld(t, o, func(t *testing.T, w *world) {
		s := w.initialize(v0326)
		old := w.initialize(v1125)
		seen := func(s, body string, want ...string) {
			t.Helper()
			spans.Reset()
			w.post(w.a, s, body)
			after(time.Second)
			got := slices.DeleteFunc(story(spans.GetSpans()), func(s string) bool { return !strings.HasPrefix(s, "server ") })
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: spans are\n  %s\nwant\n  %s", body, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
			}
		}
		const ping = `{"jsonrpc":"2.0","id":9,"method":"ping"}`
		seen(s, batch(callTool(1, "echo"), callTool(2, "echo"), ping),
			"server ping ok", "server tools/call echo 1 1 ok", "server tools/call limit ERROR")
		seen(s, batch(ping, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `7`),
			"server initialize invalid_request ERROR", "server ping invalid_request ERROR")
		seen(old, batch(callTool(1, "echo"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`),
			"server tools/call invalid_request ERROR")
		w.faults.set(true, false)
		seen(s, batch(ping, callTool(1, "echo"), answer(`"x"`, `{}`), ping),
			"server ping ok", "server ping state_unavailable ERROR", "server tools/call 1 1 state_unavailable ERROR")
		w.faults.set(false, false)
	})
}

// Entries of a batch that the store lost are restored in the log that its calls share.
func TestABatchIsRestored(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v0326)
		w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			time.Sleep(2 * time.Second)
			return text("ok"), sink.Emit(ctx, progress(2))
		}
		w.faults.lose = true
		x := w.post(w.a, s, batch(callTool(1, "say"), callTool(2, "say")))
		if n := len(x.messages()); n != 1 {
			t.Fatalf("%d events, want one: the other is lost", n)
		}
		for range 2 {
			w.returned()
		}
		after(5 * time.Second)
		if got := x.messages(); len(got) != 6 || !x.ended() {
			t.Errorf("sent %v, ended %v", got, x.ended())
		}
		if wantIDs(t, x.all()...) != 0 {
			t.Errorf("events without ids among %+v", x.all())
		}
	})
}
