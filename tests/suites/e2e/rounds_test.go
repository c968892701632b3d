package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestLateCancellation: a cancellation that crosses its call's response is taken, and nothing is wrong: the edge logs
// no warning and counts no error. Whether it finds a record of the call, or another replica, makes no difference.
func TestLateCancellation(t *testing.T) {
	t.Parallel() // it waits for most of its time
	quiet := func(t *testing.T, e *harness.Edge) {
		t.Helper()
		for line := range strings.Lines(e.Log.String()) {
			if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
				t.Errorf("logged: %s", line)
			}
		}
		for line := range strings.Lines(newOperator(t, e).get("/metrics").want(http.StatusOK).text) {
			if strings.HasPrefix(line, "mcpedge_state_errors_total") && !strings.HasSuffix(line, " 0\n") {
				t.Errorf("counted: %s", line)
			}
		}
	}
	late := func(t *testing.T, f *fixture, edges ...*harness.Edge) {
		t.Helper()
		s := newSession(t, edges[0].URL, vNov)
		for _, e := range edges {
			gate := e.Host
			stream := s.callWithProgress("gate", `{"name":"`+gate+`"}`, "p").events()
			stream.awaitMethod("notifications/progress")
			<-f.started
			close(f.gate(gate))
			<-f.ended
			stream.awaitMethod("notifications/progress")
			if got := text(t, stream.message().result(t)); got != "passed "+gate {
				t.Errorf("got %q", got)
			}
			stream.end()
			cancel := fmt.Sprintf(`{"requestId":%d,"reason":"too late"}`, s.next.Load())
			s.at(e).notify("notifications/cancelled", cancel)
			s.call("add", `{"a":1,"b":2}`).result()
			s.at(e).notify("notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, s.next.Load()))
		}
		c := newStateless(t, edges[0].URL)
		c.call("add", `{"a":1,"b":2}`).result()
		c.send(t, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
			"MCP-Protocol-Version", v2026, "Mcp-Method", "notifications/cancelled").want(http.StatusAccepted)
		for _, e := range edges {
			quiet(t, e)
		}
	}
	t.Run("memory", func(t *testing.T) {
		f := newFixture()
		late(t, f, startEdge(t, only(startService(t, f.Server))))
	})
	t.Run("Redis", func(t *testing.T) {
		f, edges, _ := startReplicas(t, 2)
		late(t, f, edges...)
	})
}

// TestProgressOverRounds: progress rises over all rounds of a request, in both eras, whichever replica runs the next.
func TestProgressOverRounds(t *testing.T) {
	_, edges, _ := startReplicas(t, 2)
	value := func(m message) any { return object(t, m.Params)["progress"] }
	t.Run(vNov, func(t *testing.T) {
		s := newSession(t, edges[0].URL, vNov)
		stream := s.callWithProgress("count_rounds", "", "p").events()
		first := stream.awaitMethod("notifications/progress")
		s.at(edges[1]).answer(stream.awaitMethod("elicitation/create"), answers["elicitation/create"])
		second := stream.message()
		if a, b := value(first), value(second); a != 1.0 || b != 2.0 {
			t.Errorf("progress %v, then %v", a, b)
		}
		if got := text(t, stream.message().result(t)); got != "Hello, Ada" {
			t.Errorf("got %q", got)
		}
	})
	t.Run(v2026, func(t *testing.T) {
		var told []any
		round := func(at *harness.Edge, token string, more ...map[string]any) map[string]any {
			c := newStateless(t, at.URL)
			c.progress = token
			stream := c.call("count_rounds", "", more...).events()
			for m := stream.message(); ; m = stream.message() {
				if m.Method == "" {
					return m.result(t)
				}
				told = append(told, value(m))
			}
		}
		asked := round(edges[0], `"first"`)
		done := round(edges[1], `"second"`, retry(t, asked, `{"name":`+answers["elicitation/create"]+`}`))
		if got, _ := json.Marshal(told); string(got) != "[1,2]" || text(t, done) != "Hello, Ada" {
			t.Errorf("told %s, got %v", got, done)
		}
	})
}

// TestElicitationByRevision: over a revision without elicitation a client that declared it is told what its revision
// lacks, and which has it; there is nothing for it to declare.
func TestElicitationByRevision(t *testing.T) {
	_, e := startFixture(t)
	for _, c := range []struct{ version, capabilities, tool, want string }{
		{v2024, everything, "ask_name", "the call needs elicitation (from 2025-06-18 on), which protocol version 2024-11-05 does not have: use a client that speaks a later one"},
		{vMar, everything, "ask_name", "the call needs elicitation (from 2025-06-18 on), which protocol version 2025-03-26 does not have: use a client that speaks a later one"},
		{vMar, everything, "ask_url", "the call needs elicitation by URL (from 2025-11-25 on), which protocol version 2025-03-26 does not have: use a client that speaks a later one"},
		{vJun, `{}`, "ask_name", `the call needs client capabilities that were not declared: {"elicitation":{}}; declare them, or use a client that has them`},
	} {
		got := newSession(t, e.URL, c.version, c.capabilities).call(c.tool, "").result()
		if got["isError"] != true || text(t, got) != c.want {
			t.Errorf("%s with %s calls %s and is told %v", c.version, c.capabilities, c.tool, got)
		}
	}
}
