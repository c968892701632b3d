package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
)

// TestEqualIDs: requests of different clients, or of one stateless client, may have the same id at the
// same time; each gets its own response.
func TestEqualIDs(t *testing.T) {
	f, e := startFixture(t)
	one, two := newSession(t, e.URL, vNov), newSession(t, e.URL, vNov)
	start := func(send func(body string) *reply, gate string) *stream {
		t.Helper()
		r := send(gate)
		<-f.started
		return r.events()
	}
	stateful := func(s *session) func(string) *reply {
		return func(gate string) *reply {
			return s.post(envelope(`"same"`, "tools/call", toolParams("gate", `{"name":"`+gate+`"}`, `"progressToken":"same"`)))
		}
	}
	c := newCaller(t, e.URL)
	stateless := func(gate string) *reply {
		return c.send(t, http.MethodPost, envelope(`"same"`, "tools/call",
			`{"_meta":{`+metaBoth+`,"progressToken":"same"},"name":"gate","arguments":{"name":"`+gate+`"}}`), modernHeaders("tools/call", "gate")...)
	}
	streams := map[string]*stream{
		"a": start(stateful(one), "a"), "b": start(stateful(two), "b"),
		"c": start(stateless, "c"), "d": start(stateless, "d"),
	}
	for _, gate := range []string{"d", "b", "a", "c"} {
		close(f.gate(gate))
		if m := (&reply{t: t, stream: streams[gate]}).final(); string(m.ID) != `"same"` || text(t, m.result(t)) != "passed "+gate {
			t.Errorf("the call through gate %s was answered by %s", gate, m.raw)
		}
	}
}

// TestForeignAnswer: a session cannot answer for another, even when it knows the question's id.
func TestForeignAnswer(t *testing.T) {
	_, e := startFixture(t)
	asked, foreign := newSession(t, e.URL, vNov), newSession(t, e.URL, vNov)
	stream := asked.call("ask_name", "").events()
	ask := stream.awaitMethod("elicitation/create")
	foreign.answer(ask, `{"action":"accept","content":{"name":"Mallory"}}`)
	asked.answer(ask, answers["elicitation/create"])
	if got := text(t, stream.message().result(t)); got != "Hello, Ada" {
		t.Errorf("got %q", got)
	}
	foreign.notify("notifications/cancelled", `{"requestId":2}`) // its own request 2, which is over
	asked.request("ping", "").want(http.StatusOK)
}

// TestKeepAlive: no open stream falls silent, whatever it waits for.
func TestKeepAlive(t *testing.T) {
	f, e := startFixture(t, quickStreams, func(c *config.Config) { c.Listen.KeepAlive = 50 * time.Millisecond })
	s, c := newSession(t, e.URL, vNov), newStateless(t, e.URL)
	c.progress = "1"
	silent := map[string]*stream{
		"standalone":     s.get("").events(),
		"asking":         s.call("ask_name", "").events(),
		"call":           s.call("gate", `{"name":"quiet"}`).events(),
		"listen":         c.request("subscriptions/listen", map[string]any{"notifications": json.RawMessage(`{}`)}).events(),
		"stateless call": c.call("gate", `{"name":"quiet"}`).events(),
	}
	for name, stream := range silent {
		for comments := 0; comments < 2; {
			select {
			case ev, ok := <-stream.events:
				if !ok {
					t.Fatalf("%s: the stream ended", name)
				}
				if ev.Comment {
					comments++
				}
			case <-time.After(patience):
				t.Fatalf("%s: the stream fell silent", name)
			}
		}
	}
	close(f.gate("quiet"))
}
