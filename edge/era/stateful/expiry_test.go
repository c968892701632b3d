package stateful

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// A standalone stream ends shortly after its credentials expire, unless a later request on any
// replica had newer ones.
func TestStreamEndsWithTheCredentials(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.who = mcp.Principal{Subject: "alice", Issuer: "https://i", Until: time.Now().Add(time.Minute)}
		s := w.initialize(v1125)
		x := w.listen(w.a, s, "")
		after(59 * time.Second)
		if x.ended() {
			t.Fatal("it ended before its credentials")
		}
		after(4 * time.Second)
		if n := w.a.Counters().Expired.Load(); !x.ended() || n != 1 {
			t.Fatalf("ended: %t; %d streams have expired", x.ended(), n)
		}

		for name, at := range map[string]*Era{"here": w.a, "elsewhere": w.b} {
			w.who.Until = time.Now().Add(time.Minute)
			x = w.listen(w.a, s, "")
			after(50 * time.Second)
			w.who.Until = time.Now().Add(time.Minute)
			w.post(at, s, `{"jsonrpc":"2.0","id":"`+name+`","method":"ping"}`)
			w.who.Until = time.Now().Add(-time.Hour)
			w.post(at, s, `{"jsonrpc":"2.0","id":"older `+name+`","method":"ping"}`)
			after(50 * time.Second)
			if x.ended() {
				t.Fatalf("%s: it ended although its session was renewed", name)
			}
			after(15 * time.Second)
			if !x.ended() {
				t.Fatalf("%s: it did not end with the newer credentials", name)
			}
		}

		// Credentials without an expiry never expire.
		w.who.Until = time.Now().Add(time.Minute)
		x = w.listen(w.a, s, "")
		w.who.Until = time.Time{}
		w.post(w.b, s, `{"jsonrpc":"2.0","id":"for ever","method":"ping"}`)
		after(time.Hour / 2)
		if x.ended() {
			t.Error("it ended although its session was renewed for ever")
		}
		x.cancel()
	})
}

// Newer credentials are written by a later revalidation if one came between the request's look at its
// session and its credentials.
func TestRenewalDuringARevalidationIsWritten(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.who = mcp.Principal{Subject: "alice", Issuer: "https://i", TokenID: "1", Until: time.Now().Add(time.Minute)}
		s := w.initialize(v1125)
		x := w.listen(w.a, s, "")
		after(50 * time.Second)
		w.who.TokenID, w.who.Scopes, w.who.Until = "2", []string{"more"}, time.Now().Add(time.Minute)
		w.post(w.b, s, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		w.b.sessions.get(s).used.Store(false) // as that revalidation leaves it
		after(50 * time.Second)
		if x.ended() {
			t.Fatal("it ended although its session was renewed")
		}
		if rec := w.a.sessions.get(s).rec.Load(); len(rec.Principal.Scopes) != 1 {
			t.Errorf("the record has %+v", rec.Principal)
		}
		x.cancel()
	})
}

// A call that waits for its user continues with the credentials of the answer.
func TestAnswerBringsItsCredentials(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.who = mcp.Principal{Subject: "alice", Issuer: "https://i", Scopes: []string{"old"}}
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		w.who.Scopes = []string{"new"}
		w.post(w.b, s, answer(ids[0], `{"action":"decline"}`))
		calls := w.backend.seen()
		if n := len(calls); n != 2 || calls[0].Principal.Scopes[0] != "old" || calls[1].Principal.Scopes[0] != "new" {
			t.Errorf("%d rounds: %+v", n, calls)
		}
	})
}

// A standalone stream reports the lists that its caller may see with its last credentials, on any
// replica.
func TestStreamFollowsTheRights(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.who = mcp.Principal{Subject: "alice", Issuer: "https://i", TokenID: "1", Scopes: []string{"read"}}
		s := w.initialize(v1125)
		x := w.listen(w.a, s, "")
		notified := func() (n int) {
			for _, m := range x.messages() {
				if strings.Contains(m, `"notifications/tools/list_changed"`) {
					n++
				}
			}
			return n
		}
		want := 0
		for at, e := range []*Era{w.a, w.b, w.a} {
			w.post(e, s, fmt.Sprintf(`{"jsonrpc":"2.0","id":"same %d","method":"ping"}`, at))
			after(3 * time.Second)
			if n := notified(); n != want {
				t.Fatalf("%d times notified before other credentials came, want %d", n, want)
			}
			w.who.TokenID = fmt.Sprint(2 + at)
			w.who.Scopes = append(w.who.Scopes, "more")
			w.post(e, s, fmt.Sprintf(`{"jsonrpc":"2.0","id":"other %d","method":"ping"}`, at))
			want++
			after(3 * time.Second)
			if n := notified(); n != want {
				t.Fatalf("%d times notified of the lists that other rights see, want %d", n, want)
			}
		}
		if rec := w.a.sessions.get(s).rec.Load(); len(rec.Principal.Scopes) != 4 {
			t.Errorf("the record has %+v", rec.Principal)
		}
		x.cancel()
	})
}
