package e2e

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// pair is two replicas, the first of which can be lost: it serves on, and is without Redis. Each records in a file of its own.
type pair struct {
	first, second *harness.Edge
	audits        [2]string
	redis         string
	forwarder     *replicas.Forwarder
	lost          bool
}

func startPair(t *testing.T, s *capability.Server, adjust ...func(*config.Config)) *pair {
	t.Helper()
	return startPairBefore(t, only(startService(t, s)), adjust...)
}

// startPairBefore is startPair for any backends.
func startPairBefore(t *testing.T, backends []config.Backend, adjust ...func(*config.Config)) *pair {
	t.Helper()
	server := redisserver.ForTest(t)
	forwarder, err := replicas.Forward(server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(forwarder.Stop)
	p := &pair{redis: server.Addr, forwarder: forwarder}
	at := func(i int, addr string) *harness.Edge {
		p.audits[i] = filepath.Join(t.TempDir(), "audit.jsonl")
		return startEdge(t, backends, append(adjust, quickStreams, func(c *config.Config) {
			if c.Audit == nil {
				c.Audit = new(config.Audit)
			}
			c.Audit.File = p.audits[i]
			c.Redis.URL, c.Redis.Lease = strings.ReplaceAll(server.URL(), server.Addr, addr), time.Second
		})...)
	}
	p.first, p.second = at(0, forwarder.Addr), at(1, server.Addr)
	t.Cleanup(func() {
		if p.lost { // A drain without Redis takes the whole grace if a task has a step that is not written.
			p.back()
		}
	})
	return p
}

// lose loses the first replica, back lets it reach Redis again.
func (p *pair) lose() {
	p.lost = true
	p.forwarder.Switch("")
}

func (p *pair) back() {
	p.lost = false
	p.forwarder.Switch(p.redis)
}

// TestTakeoverIsDecidedOn: a call may be recorded before it is decided on. Who runs it after its replica was lost decides, by
// all that is known of the caller.
func TestTakeoverIsDecidedOn(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	for name, x := range map[string]struct {
		then     authorizer.Decide
		code     int
		recorded []string
	}{
		"denied":  {authorizer.Deny("not here"), -31403, []string{"alice deny external denied look", "alice tools/call look forbidden"}},
		"allowed": {authorizer.Allow, 0, []string{"alice allow policy region look", "alice tools/call look ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			pdp := authorizer.Serve(t)
			var ran atomic.Int64
			s := capability.New("fixture", "1")
			capability.AddTool(s, "look", "Looks", func(context.Context, *capability.Call, struct{}) (string, error) {
				ran.Add(1)
				return "seen", nil
			}, capability.ReadOnly())
			p := startPair(t, s, withAuth(id), func(c *config.Config) {
				c.Policy = &config.Policy{Default: "deny", Rules: []config.PolicyRule{{Name: "region", When: `principal.claims.region == "eu"`, Then: "allow"}}}
			}, askedOf(pdp))
			began, ended := slow(pdp)
			token := id.Token("alice", public, map[string]any{"region": "eu"})
			session := sessionAs(t, p.first, vNov, token)
			stream := session.call("look", "{}").want(http.StatusOK).events()
			primed, _ := stream.next()
			await.Receive(t, "the question of the first replica", began)
			pdp.SetDecide(x.then)
			p.lose()
			m := session.seenBy(p.second, token).get(primed.ID).want(http.StatusOK).events().message()
			if x.code != 0 {
				m.wantError(t, x.code)
			} else if got := text(t, m.result(t)); got != "seen" {
				t.Errorf("%q", got)
			}
			stream.close()
			p.back()
			await.Receive(t, "the question of the first replica to end", ended)
			if n := ran.Load(); (n == 1) != (x.code == 0) {
				t.Errorf("the backend was called %d times", n)
			}
			p.second.End(t)
			got := records(t, p.audits[1])
			wantRecords(t, got, x.recorded...)
			for _, r := range got {
				if r.Attempt != 2 {
					t.Errorf("%s %v has the attempt %d, want 2", r.Event, r, r.Attempt)
				}
			}
		})
	}
}

// TestDrainWithoutRedis: a replica that ends while Redis is away says so of the calls whose outcome it could not store.
func TestDrainWithoutRedis(t *testing.T) {
	entered, gate := make(chan struct{}, 9), make(chan struct{})
	s := capability.New("fixture", "1")
	capability.AddTool(s, "look", "Looks", func(context.Context, *capability.Call, struct{}) (string, error) {
		entered <- struct{}{}
		<-gate
		return "seen", nil
	}, capability.ReadOnly())
	p := startPair(t, s, func(c *config.Config) { c.Shutdown.Grace = 2 * time.Second })
	client := newSession(t, p.first.URL, vNov)
	stream := client.call("look", "{}").want(http.StatusOK).events()
	primed, _ := stream.next()
	stream.close()
	await.Receive(t, "the call of the backend", entered)
	p.lose()
	close(gate)
	p.first.Stop()
	if err := p.first.Wait(t); err == nil || !strings.Contains(err.Error(), "calls of sessions had not ended: 1 that no backend ran, which waited for Redis") {
		t.Errorf("the drain ended with %v", err)
	}
	if got := text(t, client.at(p.second).get(primed.ID).want(http.StatusOK).events().message().result(t)); got != "seen" {
		t.Errorf("the client got %q at the other replica", got)
	}
}

// TestDrainOfTasksWithoutRedis: so it does of tasks.
func TestDrainOfTasksWithoutRedis(t *testing.T) {
	entered, gate := make(chan struct{}, 9), make(chan struct{})
	s := capability.New("fixture", "1")
	capability.AddTool(s, "act", "Acts", func(context.Context, *capability.Call, struct{}) (string, error) {
		entered <- struct{}{}
		<-gate
		return "done", nil
	}, capability.Tasks(capability.TaskRequired))
	p := startPair(t, s, func(c *config.Config) { c.Shutdown.Grace = 2 * time.Second })
	newStateless(t, p.first.URL, withTasks).call("act", "{}").want(http.StatusOK).result()
	await.Receive(t, "the call of the backend", entered)
	p.lose()
	close(gate)
	p.first.Stop()
	if err := p.first.Wait(t); err == nil || !strings.Contains(err.Error(), "tasks had not ended: 1 that no backend ran, which waited for Redis") {
		t.Errorf("the drain ended with %v", err)
	}
}

// TestDrainWaitsForTasksThatBegan: a task that begins during the drain, while another call still runs, is not cut off either.
func TestDrainWaitsForTasksThatBegan(t *testing.T) {
	entered, held, gate := make(chan struct{}, 9), make(chan struct{}), make(chan struct{})
	s := capability.New("fixture", "1")
	waits := func(on chan struct{}) func(context.Context, *capability.Call, struct{}) (string, error) {
		return func(ctx context.Context, _ *capability.Call, _ struct{}) (string, error) {
			entered <- struct{}{}
			select {
			case <-on:
				return "done", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	}
	capability.AddTool(s, "hold", "Holds the drain", waits(held))
	capability.AddTool(s, "act", "Acts", waits(gate), capability.Tasks(capability.TaskOptional))
	p := startPair(t, s, func(c *config.Config) { c.Shutdown.Delay = 0 })
	client := newSession(t, p.first.URL, vNov)
	stream := client.call("hold", "{}").want(http.StatusOK).events()
	await.Receive(t, "the call of the backend", entered)
	p.first.Stop()
	await.Until(t, "the edge drains", func() bool {
		r, err := newOperator(t, p.first).try(http.MethodGet, "/readyz", "")
		return err == nil && r.status == http.StatusServiceUnavailable
	})
	id, _ := dig(client.request("tools/call", `{"name":"act","arguments":{},"task":{}}`).want(http.StatusOK).result(), "task", "taskId").(string)
	await.Receive(t, "the task to run", entered)
	close(held)
	stream.message()
	await.Until(t, "the edge to accept no requests", func() bool {
		r, err := http.Get(p.first.URL)
		if err == nil {
			_ = r.Body.Close()
		}
		return err != nil
	})
	for range 20 {
		if _, err := newOperator(t, p.first).try(http.MethodGet, "/readyz", ""); err != nil {
			t.Fatalf("the edge has ended: %v", err)
		}
	}
	close(gate)
	p.first.AwaitEnd(t)
	got := client.at(p.second).request("tasks/result", `{"taskId":"`+id+`"}`).want(http.StatusOK)
	if said := text(t, got.result()); said != "done" {
		t.Errorf("the task ended with %q", said)
	}
}
