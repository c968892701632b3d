package stateful

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

func TestSetLevelIsHeardEverywhere(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.post(w.b, s, callTool(1, "echo"))
		w.wantBody(w.post(w.a, s, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"warning"}}`),
			`{"jsonrpc":"2.0","id":2,"result":{}}`)
		w.post(w.b, s, callTool(3, "echo"))
		w.post(w.a, s, callTool(4, "echo"))
		var levels []string
		for _, c := range w.backend.seen() {
			levels = append(levels, c.LogLevel.String())
		}
		if got := strings.Join(levels, ","); got != ",warning,warning" {
			t.Errorf("levels are %s", got)
		}
		for _, p := range []string{`{"level":"loud"}`, `{"level":1}`, `{}`} {
			w.wantKind(w.post(w.a, s, `{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":`+p+`}`), mcp.KindInvalidParams)
		}
	})
}

func TestNotificationsAreAccepted(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		for _, m := range []string{"notifications/initialized", "notifications/roots/list_changed", "notifications/progress", "notifications/other"} {
			w.wantAccepted(w.post(w.b, s, `{"jsonrpc":"2.0","method":"`+m+`"}`))
		}
		if !w.b.sessions.get(s).rec.Load().Initialized {
			t.Error("initialized was not noted")
		}
		w.wantKind(w.post(w.a, "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`), mcp.KindSessionRequired)
	})
}

func subscribe(verb, uri string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"resources/%s","params":{"uri":%q}}`, verb, uri)
}

func listChanged(what string) string {
	return `{"jsonrpc":"2.0","method":"notifications/` + what + `/list_changed"}`
}

func updated(uri string) string {
	return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + uri + `"}}`
}

func TestSubscriptions(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.refusedURI = "x://no"
		x := w.listen(w.a, s, "")
		w.wantBody(w.post(w.a, s, subscribe("subscribe", "x://1")), `{"jsonrpc":"2.0","id":9,"result":{}}`)
		w.wantBody(w.post(w.b, s, subscribe("subscribe", "x://2")), `{"jsonrpc":"2.0","id":9,"result":{}}`)
		w.wantBody(w.post(w.a, s, subscribe("subscribe", "x://no")), `{"jsonrpc":"2.0","id":9,"error":{"code":-32002,`+
			`"message":"the resource does not exist or cannot be subscribed to","data":{"uri":"x://no"}}}`)
		w.wantKind(w.post(w.a, s, subscribe("subscribe", "")), mcp.KindInvalidParams)
		for _, verb := range []string{"subscribe", "unsubscribe"} {
			w.wantKind(w.post(w.a, s, subscribe(verb, "x://"+strings.Repeat("1", mcp.MaxURI))), mcp.KindInvalidParams)
		}
		for _, uri := range []string{"x://1", "x://2", "x://3"} {
			w.backend.change(mcp.Change{Kind: mcp.ResourceUpdated, URI: uri})
			after(time.Millisecond)
		}
		w.wantMessages(x, updated("x://1"), updated("x://2"))
		w.wantBody(w.post(w.b, s, subscribe("unsubscribe", "x://1")), `{"jsonrpc":"2.0","id":9,"result":{}}`)
		w.backend.change(mcp.Change{Kind: mcp.ResourceUpdated, URI: "x://1"})
		after(time.Second)
		w.wantMessages(x, updated("x://1"), updated("x://2"))
		// The stream is attached on the other replica: it reports changes that may have been
		// missed.
		y := w.listen(w.b, s, "")
		w.wantMessages(y, updated("x://2"))
		w.backend.change(mcp.Change{Kind: mcp.ResourceUpdated, URI: "x://2"})
		after(time.Second)
		w.wantMessages(x, updated("x://1"), updated("x://2"))
		w.wantMessages(y, updated("x://2"), updated("x://2"))
		if n := w.backend.openFeeds(); n != 1 {
			t.Errorf("%d feeds are open", n)
		}
		w.backend.noWatch = true
		w.wantKind(w.post(w.a, s, subscribe("subscribe", "x://4")), mcp.KindMethodNotFound)
	})
}

func TestStandaloneStream(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		x := w.listen(w.a, s, "")
		w.wantMessages(x)
		w.backend.change(mcp.Change{Kind: mcp.ToolsChanged})
		w.backend.change(mcp.Change{Kind: mcp.ToolsChanged})
		after(time.Second)
		w.wantMessages(x, listChanged("tools"))
		for _, ev := range x.all() {
			if ev.ID != "" {
				t.Errorf("an event of the standalone stream has the id %s", ev.ID)
			}
		}
		after(time.Minute)
		if x.alive() != 4 {
			t.Errorf("kept alive %d times in a minute", x.alive())
		}
		x.cancel()
		after(time.Millisecond)
		if !x.ended() || w.backend.openFeeds() != 0 {
			t.Fatal("the stream did not end with its client")
		}
		// There is no stream. The next attachment gets the change once.
		w.backend.change(mcp.Change{Kind: mcp.PromptsChanged})
		y := w.listen(w.b, s, "")
		w.wantMessages(y, listChanged("prompts"))
	})
}

// TestSeveralStandaloneStreams: of a client's streams only the newest gets notifications. When it
// ends, the newest of the others is attached, also on another replica. Each message is sent once.
func TestSeveralStandaloneStreams(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		streams := []*client{w.listen(w.b, s, ""), w.listen(w.a, s, ""), w.listen(w.a, s, "")}
		kinds := []mcp.ChangeKind{mcp.ToolsChanged, mcp.PromptsChanged, mcp.ToolsChanged}
		names := []string{"tools", "prompts", "tools"}
		for i := range streams {
			newest := streams[len(streams)-1-i]
			w.backend.change(mcp.Change{Kind: kinds[i]})
			after(time.Second)
			for _, x := range streams[:len(streams)-1-i] {
				w.wantMessages(x)
				if x.ended() {
					t.Fatalf("of %d streams an older one ended", len(streams)-i)
				}
			}
			w.wantMessages(newest, listChanged(names[i]))
			if n := w.backend.openFeeds(); n != 1 {
				t.Errorf("%d feeds are open", n)
			}
			before := newest.alive()
			after(time.Minute)
			if n := newest.alive() - before; n != 4 {
				t.Errorf("kept alive %d times in a minute", n)
			}
			newest.cancel()
			after(time.Second)
		}
		if n := w.backend.openFeeds(); n != 0 {
			t.Errorf("%d feeds are open", n)
		}
		// A change without an attached stream is sent on the next attached stream.
		older, newest := w.listen(w.a, s, ""), w.listen(w.b, s, "")
		newest.cancel()
		w.backend.change(mcp.Change{Kind: mcp.ToolsChanged})
		after(time.Second)
		w.wantMessages(older, listChanged("tools"))
	})
}

// TestSpareStreamsMissNoTurn: a spare stream is attached even if the newest ended before it was
// registered, and if the chosen one ends at that moment.
func TestSpareStreamsMissNoTurn(t *testing.T) {
	s := newLocalSession("s")
	s.rec.Store(&record{})
	stream := func() *standby { return &standby{cancel: func(error) {}, wanted: make(chan struct{}, 1)} }
	if s.chooseStandby() {
		t.Error("a stream is there that was not registered")
	}
	first, second := stream(), stream()
	s.addStandby(first)
	if len(first.wanted) != 1 {
		t.Error("the stream that came late is not wanted")
	}
	s.addStandby(second)
	if len(second.wanted) != 0 {
		t.Error("a second stream is wanted")
	}
	if s.removeStandby(second) || !s.removeStandby(first) {
		t.Error("only the stream that was wanted misses its turn")
	}
	if s.removeStandby(first) {
		t.Error("a stream misses its turn twice")
	}
}

// TestSpareStreamsAreBounded: the oldest stream beyond the bound ends.
func TestSpareStreamsAreBounded(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		var streams []*client
		for range maxStandbys + 3 {
			streams = append(streams, w.listen(w.a, s, ""))
			after(time.Second)
		}
		for i, x := range streams {
			if x.ended() != (i < 2) {
				t.Errorf("stream %d ended: %t", i, x.ended())
			}
		}
		w.wantAccepted(w.end(w.a, s))
		after(time.Second)
		for i, x := range streams {
			if !x.ended() {
				t.Errorf("stream %d is open after its session was deleted", i)
			}
		}
	})
}

func TestIdleStreamsNeedNoOtherGoroutine(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		before := runtime.NumGoroutine()
		w.listen(w.a, s, "")
		if n := runtime.NumGoroutine() - before; n != 1 {
			t.Errorf("an idle stream keeps %d goroutines", n)
		}
		if w.a.work.WaitBusy(t.Context()) != nil {
			t.Error("a drain waits for an idle stream")
		}
	})
}

func TestCopiesAreRevalidated(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.post(w.a, s, callTool(1, "echo"))
		// The session was deleted without an event, which is noticed within a second.
		if err := w.store("c").Delete(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		after(1100 * time.Millisecond)
		w.wantKind(w.post(w.a, s, callTool(2, "echo")), mcp.KindSessionNotFound)
		// Unused copies are evicted; the session outlives them.
		s = w.initialize(v1125)
		after(2 * time.Minute)
		if w.a.sessions.get(s) != nil {
			t.Error("an unused copy is still held")
		}
		w.wantKind(w.post(w.a, s, callTool(3, "echo")), mcp.KindNone)
		// A session in use does not expire; an unused one does.
		x := w.listen(w.a, s, "")
		other := w.initialize(v1125)
		after(2 * time.Hour)
		if x.ended() {
			t.Error("a session with an open stream expired")
		}
		w.wantKind(w.post(w.a, other, callTool(4, "echo")), mcp.KindSessionNotFound)
	})
}

// On a connection only a ping is permitted before the handshake.
func TestPingBeforeTheHandshake(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		post := func(body string, conn *mcp.Conn) *client {
			return w.begin(func(ctx context.Context, x *client) {
				w.a.Message(ctx, &mcp.Incoming{Conn: conn}, mustParse(body), x)
			})
		}
		for _, c := range []struct {
			body string
			conn *mcp.Conn
			want mcp.Kind
		}{
			{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, new(mcp.Conn), mcp.KindNone},
			{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, new(mcp.Conn), mcp.KindSessionRequired},
			{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil, mcp.KindSessionRequired},
		} {
			x := post(c.body, c.conn)
			<-x.done
			w.wantKind(x, c.want)
		}
	})
}

// The error for a message before initialize says what a client of its transport can send.
func TestErrorBeforeTheHandshakeFitsTheTransport(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		const id, header, meta = "its session id with every message", "MCP-Protocol-Version: 2026-07-28", mcp.MetaVersion
		for _, c := range []struct {
			transport string
			in        mcp.Incoming
			says      []string
			not       []string
		}{
			{"Streamable HTTP", mcp.Incoming{PerRequest: true, Header: http.Header{}}, []string{id, header}, []string{meta}},
			{"HTTP+SSE", mcp.Incoming{Conn: new(mcp.Conn), Header: http.Header{}}, nil, []string{"session id", header, meta}},
			{"stdio", mcp.Incoming{Conn: new(mcp.Conn)}, []string{meta}, []string{"session id", header}},
		} {
			x := w.begin(func(ctx context.Context, x *client) {
				w.a.Message(ctx, &c.in, mustParse(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), x)
			})
			<-x.done
			w.wantKind(x, mcp.KindSessionRequired)
			for _, text := range append(c.says, "send initialize first") {
				if !strings.Contains(x.body(), text) {
					t.Errorf("%s: %s lacks %q", c.transport, x.body(), text)
				}
			}
			for _, text := range c.not {
				if strings.Contains(x.body(), text) {
					t.Errorf("%s: %s has %q, which does not apply", c.transport, x.body(), text)
				}
			}
		}
	})
}

// The stored bytes of a session are bounded in total. The error names the bytes that exceed the
// bound.
func TestSessionBytesAreBounded(t *testing.T) {
	inLimits(t, Options{}, state.Limits{SessionBytes: 32 << 10}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		uri := func(i int) string { return fmt.Sprintf("x://%04000d", i) }
		made := 0
		for i := range 40 {
			x := w.post(w.a, s, subscribe("subscribe", uri(i)))
			if x.kind() == mcp.KindNone {
				made++
				continue
			}
			w.wantKind(x, mcp.KindLimit)
			if !strings.Contains(x.body(), "of at most 32768 bytes") {
				t.Errorf("%s does not say what the bound is", x.body())
			}
		}
		if got := w.medium.Stats().Bytes; made != 7 || got < made*4000 || got > 32<<10 {
			t.Errorf("%d subscriptions of 4,004 bytes were made, the session keeps %d bytes of 32 KiB", made, got)
		}
		// A call that asks is refused if its record exceeds the bound.
		w.backend.tools["ask"] = asking(elicit("name"))
		ask := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"n":"` + strings.Repeat("n", 8<<10) + `"}}}`
		x := w.post(w.a, s, ask)
		if !strings.Contains(x.body(), `"code":-31429`) || !strings.Contains(x.body(), "more do not fit") {
			t.Errorf("the call that asks: %s", x.body())
		}
		// A plain call needs no stored bytes.
		w.wantKind(w.post(w.a, s, subscribe("subscribe", uri(41))), mcp.KindLimit)
		if x := w.post(w.a, s, callTool(2, "echo")); x.kind() != mcp.KindNone || x.body() == "" {
			t.Errorf("a plain call: %s", x.body())
		}
		for i := range 2 {
			w.wantBody(w.post(w.b, s, subscribe("unsubscribe", uri(i))), `{"jsonrpc":"2.0","id":9,"result":{}}`)
		}
		if ids, _ := asked(t, w.post(w.a, s, strings.Replace(ask, `"id":1`, `"id":3`, 1))); len(ids) != 1 {
			t.Error("a call that asks finds no room after subscriptions have ended")
		}
	})
}

// A call whose question exceeds the bound ends with an error that names the bound. An answer that
// exceeds it is refused, and may be sent again.
func TestQuestionsAndAnswersFindRoom(t *testing.T) {
	inLimits(t, Options{}, state.Limits{SessionBytes: 16 << 10}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["large"] = func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			return mcp.Reply{Input: &mcp.InputRequired{Requests: []mcp.InputRequest{elicit("name")}, State: make([]byte, 16<<10)}}, nil
		}
		x := w.post(w.a, s, callTool(1, "large"))
		msgs := x.messages()
		if !x.ended() || len(msgs) != 1 || !strings.Contains(msgs[0], `"code":-31429`) || !strings.Contains(msgs[0], "of at most 16384 bytes") {
			t.Fatalf("messages of a call whose question finds no room: %v", msgs)
		}
		w.backend.tools["ask"] = asking(elicit("name"))
		x = w.post(w.a, s, callTool(2, "ask"))
		ids, _ := asked(t, x)
		w.wantKind(w.post(w.b, s, answer(ids[0], `{"s":"`+strings.Repeat("x", 16<<10)+`"}`)), mcp.KindLimit)
		w.wantAccepted(w.post(w.b, s, answer(ids[0], `{"s":"x"}`)))
		after(2 * time.Second)
		if msgs := x.messages(); !x.ended() || !strings.Contains(msgs[len(msgs)-1], `"result"`) {
			t.Errorf("messages after the answer that fits: %v", msgs)
		}
	})
}

// An unused session ends with its TTL and frees its place, although a copy of it is held for
// longer.
func TestUnusedSessionFreesItsPlace(t *testing.T) {
	inLimits(t, Options{}, state.Limits{SessionTTL: 20 * time.Second, SessionsPerPrincipal: 2}, func(t *testing.T, w *world) {
		w.initialize(v1125)
		kept := w.initialize(v1125)
		x := w.listen(w.b, kept, "")
		initialize := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
		after(19 * time.Second)
		w.wantKind(w.post(w.a, "", initialize), mcp.KindLimit)
		after(3 * time.Second)
		if w.post(w.a, "", initialize).session == "" {
			t.Error("no place is free 2 s after a session's TTL")
		}
		// An open stream counts as a use.
		w.wantKind(w.post(w.a, "", initialize), mcp.KindLimit)
		after(time.Minute)
		if x.ended() {
			t.Error("the session with a stream has ended")
		}
		w.wantBody(w.post(w.a, kept, `{"jsonrpc":"2.0","id":1,"method":"ping"}`), `{"jsonrpc":"2.0","id":1,"result":{}}`)
	})
}
