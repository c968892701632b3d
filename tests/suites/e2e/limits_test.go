package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// tooMany checks what crossing a bound on counts is answered with: 429, when to come back, and a code
// of its own.
func tooMany(t *testing.T, r *reply) {
	t.Helper()
	r.want(http.StatusTooManyRequests).json().wantError(t, -31429)
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// TestCounts crosses every bound on what there may be at a time: the last one is refused, those before
// go on, and one that ends makes room.
func TestCounts(t *testing.T) {
	harness.OneProcess(t)
	f, e := startFixture(t, func(c *config.Config) {
		c.Clients.Sessions, c.Advanced.CallsPerSession = 2, 1
		c.Advanced.ListensPerPrincipal, c.Clients.Subscriptions = 1, 1
	})
	s, other := newSession(t, e.URL, vNov), newSession(t, e.URL, vNov)
	c := newStateless(t, e.URL)
	t.Run("sessions", func(t *testing.T) {
		tooMany(t, newCaller(t, e.URL).send(t, http.MethodPost, hello))
		other.delete().want(http.StatusNoContent)
		newSession(t, e.URL, vNov)
	})
	t.Run("calls", func(t *testing.T) {
		first := s.callWithProgress("gate", `{"name":"first"}`, "p")
		<-f.started
		tooMany(t, s.call("gate", `{"name":"second"}`))
		close(f.gate("first"))
		first.text()
		await.Until(t, "the next call is taken", func() bool { return s.call("add", `{"a":1,"b":1}`).status == http.StatusOK })
	})
	t.Run("subscriptions", func(t *testing.T) {
		s.request("resources/subscribe", `{"uri":"test://note"}`).want(http.StatusOK)
		tooMany(t, s.request("resources/subscribe", `{"uri":"test://bytes"}`))
		s.request("resources/unsubscribe", `{"uri":"test://note"}`).want(http.StatusOK)
		s.request("resources/subscribe", `{"uri":"test://bytes"}`).want(http.StatusOK)
	})
	t.Run("subscriptions of a listen", func(t *testing.T) {
		c.request("subscriptions/listen", map[string]any{"notifications": json.RawMessage(
			`{"resourceSubscriptions":["test://note","test://bytes"]}`)}).want(http.StatusBadRequest).json().wantError(t, -32602)
	})
	t.Run("listens", func(t *testing.T) {
		all := map[string]any{"notifications": json.RawMessage(`{"toolsListChanged":true}`)}
		first := c.request("subscriptions/listen", all).events()
		first.message()
		tooMany(t, c.request("subscriptions/listen", all))
		first.close()
		await.Until(t, "the next listen is taken", func() bool { return c.request("subscriptions/listen", all).status == http.StatusOK })
	})
}

// TestTimes crosses the bounds on time: of a session without use, of a call's round at its backend,
// and of a call's whole life.
func TestTimes(t *testing.T) {
	f := newFixture()
	backends := only(startService(t, f.Server))
	backends[0].Timeout = 100 * time.Millisecond
	t.Run("round", func(t *testing.T) {
		e := startEdge(t, backends)
		newSession(t, e.URL, vNov).call("gate", `{"name":"late"}`).want(http.StatusOK).json().wantError(t, -31504)
		newStateless(t, e.URL).call("gate", `{"name":"late"}`).want(http.StatusOK).json().wantError(t, -31504)
	})
	backends[0].Timeout = 0
	t.Run("life", func(t *testing.T) {
		// It is long enough to ask in, however slow the machine is.
		began := time.Now()
		newStateless(t, startEdge(t, backends).URL).call("ask_name", "").result()
		life := longEnough(2*time.Second, time.Since(began))
		e := startEdge(t, backends, func(c *config.Config) { c.Calls.Lifetime = life })
		waiting := newSession(t, e.URL, vNov).call("ask_name", "").events()
		waiting.awaitMethod("elicitation/create")
		waiting.message().wantError(t, -31504)
		c := newStateless(t, e.URL)
		asked := c.call("ask_name", "").result()
		await.Until(t, "the state is too old", func() bool {
			r := c.call("ask_name", "", retry(t, asked, `{"name":`+answers["elicitation/create"]+`}`))
			if r.status != http.StatusBadRequest {
				return false
			}
			r.json().wantError(t, -32602)
			return true
		})
	})
	t.Run("session", func(t *testing.T) {
		e := startEdge(t, backends, func(c *config.Config) { c.Sessions.TTL = time.Second })
		s := newSession(t, e.URL, vNov)
		// Asking keeps it alive, so the pauses between grow.
		pause := time.Second
		await.Until(t, "a session that nobody used has ended", func() bool {
			time.Sleep(pause)
			pause += 200 * time.Millisecond
			return s.request("ping", "").status == http.StatusNotFound
		})
	})
}

// TestRoundsBound: a call may ask in as many rounds as the setting says, in either era; asking once more ends it.
func TestRoundsBound(t *testing.T) {
	for name, c := range map[string]struct {
		rounds int
		ends   bool
	}{"as many as it asks in": {2, false}, "one fewer": {1, true}} {
		t.Run(name, func(t *testing.T) {
			_, e := startFixture(t, func(cfg *config.Config) { cfg.Calls.Rounds = c.rounds })
			check := func(m message) {
				t.Helper()
				switch {
				case !c.ends && m.Error != nil:
					t.Errorf("it ended: %s", m.raw)
				case c.ends && !strings.Contains(m.wantError(t, -31429).Error.Message, `asks "last" after round 1 of questions`):
					t.Errorf("the error does not say which question was too many: %s", m.raw)
				}
			}
			s := newSession(t, e.URL, vNov)
			stream := s.call("two_steps", "").events()
			s.answer(stream.awaitMethod("elicitation/create"), answers["elicitation/create"])
			check(stream.message())
			modern := newStateless(t, e.URL)
			first := modern.call("two_steps", "").result()
			check(modern.call("two_steps", "", retry(t, first, `{"first":`+answers["elicitation/create"]+`}`)).want(http.StatusOK).json())
		})
	}
}

// TestResultBytes: a response that is too large for the log of its stream, which is open, is replaced by an error.
func TestResultBytes(t *testing.T) {
	f, e := startFixture(t, func(c *config.Config) { c.Streams.ResultBytes = 64 << 10 })
	s := newSession(t, e.URL, vNov)
	stream := s.callWithProgress("big", `{"bytes":200000,"times":1}`, "p").events()
	stream.awaitMethod("notifications/progress")
	close(f.gate("big"))
	stream.awaitError(-31413)
	if got := s.callWithProgress("big", `{"bytes":20000}`, "p").text(); len(got) != 20_000 {
		t.Errorf("a smaller result has %d bytes", len(got))
	}
	if got := len(s.call("big", `{"bytes":200000}`).text()); got != 200_000 {
		t.Errorf("a large result without a stream has %d bytes", got)
	}
}

// TestPages: lists come in pages of the bounded size, and all pages make the list.
func TestPages(t *testing.T) {
	_, e := startFixture(t, func(c *config.Config) { c.Lists.PageSize = 4 })
	s, c := newSession(t, e.URL, vNov), newStateless(t, e.URL)
	list := func(page func(cursor any) map[string]any) []string {
		var all []string
		for cursor := any(nil); ; {
			got := page(cursor)
			here := names(got["tools"], "name")
			if len(here) > 4 || len(here) == 0 {
				t.Fatalf("a page of %d", len(here))
			}
			all = append(all, here...)
			if cursor = got["nextCursor"]; cursor == nil {
				return all
			}
		}
	}
	stateful := list(func(cursor any) map[string]any {
		if cursor == nil {
			return s.request("tools/list", "").result()
		}
		return s.request("tools/list", fmt.Sprintf(`{"cursor":%q}`, cursor)).result()
	})
	stateless := list(func(cursor any) map[string]any {
		if cursor == nil {
			return c.request("tools/list", nil).result()
		}
		return c.request("tools/list", map[string]any{"cursor": cursor}).result()
	})
	if len(stateful) < 10 || !slices.Equal(stateful, stateless) {
		t.Errorf("%v and %v", stateful, stateless)
	}
}

// TestHTTP2 runs both eras over one unencrypted HTTP/2 connection.
func TestHTTP2(t *testing.T) {
	harness.OneProcess(t)
	_, e := startFixture(t)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	over := &caller{url: e.URL, http: &http.Client{Transport: transport}}

	c := newStateless(t, e.URL)
	c.caller = over
	c.progress = "1"
	stream := c.call("count", `{"to":2}`).events()
	stream.awaitMethod("notifications/progress")
	stream.awaitMethod("notifications/progress")
	stream.message().result(t)

	s := &session{caller: over, t: t, version: vNov, next: new(atomic.Int64)}
	s.open(everything)
	asking := s.call("ask_name", "").events()
	s.answer(asking.awaitMethod("elicitation/create"), answers["elicitation/create"])
	if got := text(t, asking.message().result(t)); got != "Hello, Ada" {
		t.Errorf("got %q", got)
	}
	s.delete().want(http.StatusNoContent)
}
