package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// replicaCount is how many replicas startFixture runs with -redis.
const replicaCount = 2

// startReplicas runs a fixture and edges before it that share a Redis.
func startReplicas(t *testing.T, n int, adjust ...func(*config.Config)) (*fixture, []*harness.Edge, *redisserver.Server) {
	t.Helper()
	server := redisserver.ForTest(t)
	f := newFixture()
	backends := only(startService(t, f.Server))
	edges := make([]*harness.Edge, n)
	for i := range edges {
		edges[i] = startEdge(t, backends, append(adjust, func(c *config.Config) { c.Redis.URL = server.URL() })...)
	}
	return f, edges, server
}

// at is the session as seen through another replica.
func (s *session) at(e *harness.Edge) *session {
	other := *s
	other.caller = newCaller(s.t, e.URL)
	return &other
}

// TestAnywhere: each message of a session may come to another replica: a POST, a GET, a resume, an
// answer, a cancellation, a DELETE.
func TestAnywhere(t *testing.T) {
	f, edges, _ := startReplicas(t, 3)
	for _, version := range stateful {
		t.Run(version, func(t *testing.T) {
			a := newSession(t, edges[0].URL, version)
			b, c := a.at(edges[1]), a.at(edges[2])
			if got := b.call("add", `{"a":1,"b":2}`).text(); got != `{"sum":3}` {
				t.Errorf("add elsewhere gave %q", got)
			}

			stream := a.callWithProgress("gate", `{"name":"any `+version+`"}`, "p").events()
			<-f.started
			stream.awaitMethod("notifications/progress")
			rest := b.get(stream.lastID).want(http.StatusOK).events()
			close(f.gate("any " + version))
			<-f.ended
			rest.awaitMethod("notifications/progress")
			if got := text(t, rest.message().result(t)); got != "passed any "+version {
				t.Errorf("resumed elsewhere, the call gave %q", got)
			}
			rest.end()

			asked := b.call("ask_model", "").events()
			c.answer(asked.awaitMethod("sampling/createMessage"), answers["sampling/createMessage"])
			if got := text(t, asked.message().result(t)); got != "The model said word" {
				t.Errorf("answered elsewhere, the call gave %q", got)
			}

			cancelled := a.callWithProgress("gate", `{"name":"cancelled `+version+`"}`, "q").events()
			<-f.started
			cancelled.awaitMethod("notifications/progress")
			b.notify("notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, a.next.Load()))
			if err := <-f.ended; err == nil {
				t.Error("a cancellation elsewhere did not reach the call")
			}
			cancelled.end()

			c.delete().want(http.StatusNoContent)
			for _, s := range []*session{a, b, c} {
				s.request("ping", "").want(http.StatusNotFound)
			}
		})
	}
}

// TestRoundsAnywhere: in the stateless era each round of a call may come to another replica, without a
// key of the operator's.
func TestRoundsAnywhere(t *testing.T) {
	_, edges, _ := startReplicas(t, 2)
	asked := newStateless(t, edges[0].URL).call("ask_name", "").result()
	again := retry(t, asked, `{"name":`+answers["elicitation/create"]+`}`)
	if got := newStateless(t, edges[1].URL).call("ask_name", "", again).text(); got != "Hello, Ada" {
		t.Errorf("the second round elsewhere gave %q", got)
	}
}

// TestRefusesToLoseSessions: a Redis that evicts is no place for state, and the error says what to set.
func TestRefusesToLoseSessions(t *testing.T) {
	server := redisserver.ForTest(t, "--maxmemory-policy", "allkeys-lru")
	cfg := harness.Config(only(startService(t, newFixture().Server))...)
	cfg.Redis.URL = server.URL()
	e := harness.Begin(t, cfg)
	err := e.Wait(t)
	if e.HasServed() {
		t.Error("it serves")
	}
	if err == nil || !strings.Contains(err.Error(), "allkeys-lru") || !strings.Contains(err.Error(), `"noeviction"`) {
		t.Errorf("it ended with: %v", err)
	}
}

// TestStartsOnceRedisIsThere: a replica that cannot reach its Redis waits, unready, and tells why; one
// whose Redis evicts does not start.
func TestStartsOnceRedisIsThere(t *testing.T) {
	server := redisserver.ForTest(t)
	server.Kill()
	admin, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	cfg := harness.Config(only(startService(t, newFixture().Server))...)
	cfg.Admin.Address, cfg.Redis.URL = admin, server.URL()
	e := harness.Begin(t, cfg)
	ready := func() (int, string) {
		resp, err := http.Get("http://" + admin + "/readyz")
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	await.Until(t, "unready for want of Redis", func() bool {
		status, body := ready()
		return status == http.StatusServiceUnavailable && strings.Contains(body, "the state cannot be reached")
	})
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	e.AwaitServing(t)
	await.Until(t, "ready with Redis", func() bool { status, _ := ready(); return status == http.StatusOK })
	newSession(t, e.URL, vNov).call("add", `{"a":1,"b":2}`).text()
	e.End(t)
}
