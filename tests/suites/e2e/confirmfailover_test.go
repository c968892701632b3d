package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// failover is a primary of Redis with a replica, before two edges. The links to Redis and between its servers can be cut.
type failover struct {
	t       *testing.T
	w       *wiper
	servers [2]*redisserver.Server // the primary, and its replica
	link    *replicas.Forwarder    // the replica reads its primary through it
	edges   [2]*replicas.Forwarder
	clients [2]*stateless
	// late is true once an answer to settled was that the replica did not acknowledge in time.
	late bool
}

// startFailover starts edges that demand so many replicas of Redis.
func startFailover(t *testing.T, demanded int) *failover {
	t.Helper()
	f := &failover{t: t, w: newWiper()}
	forward := func(target string) *replicas.Forwarder {
		p, err := replicas.Forward(target)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Stop)
		return p
	}
	for i := range f.servers {
		f.servers[i] = redisserver.ForTest(t, "--repl-diskless-sync-delay", "0")
	}
	f.link = forward("")
	f.replicate()
	backends := only(startService(t, f.w.Server))
	for i := range f.edges {
		f.edges[i] = forward(f.servers[0].Addr)
		e := startEdge(t, backends, toConfirm, func(c *config.Config) {
			c.Redis.URL, c.Redis.Acknowledge = "redis://"+f.edges[i].Addr, demanded
		})
		f.clients[i] = newStateless(t, e.URL)
	}
	return f
}

func (f *failover) redis(i int) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: f.servers[i].Addr})
	f.t.Cleanup(func() { _ = c.Close() })
	return c
}

// replicate connects the second server to the first, and returns when it acknowledges writes.
func (f *failover) replicate() {
	f.t.Helper()
	f.link.Switch(f.servers[0].Addr)
	host, port, _ := strings.Cut(f.link.Addr, ":")
	if err := f.redis(1).ReplicaOf(f.t.Context(), host, port).Err(); err != nil {
		f.t.Fatal(err)
	}
	await.Until(f.t, "the replica acknowledges", func() bool {
		var acks *goredis.Cmd
		_, err := f.redis(0).Pipelined(f.t.Context(), func(p goredis.Pipeliner) error {
			p.Set(f.t.Context(), "mark", "", 0)
			acks = p.Do(f.t.Context(), "wait", 1, 100)
			return nil
		})
		return err == nil && acks.Val() == int64(1)
	})
}

// promote kills the primary, makes the replica the primary, and has the edges use it.
func (f *failover) promote() {
	f.t.Helper()
	f.servers[0].Kill()
	if err := f.redis(1).Do(f.t.Context(), "replicaof", "no", "one").Err(); err != nil {
		f.t.Fatal(err)
	}
	f.servers[0], f.servers[1] = f.servers[1], f.servers[0]
	for _, e := range f.edges {
		e.Switch(f.servers[0].Addr)
	}
}

// rejoin starts the former primary as the replica of the one that was promoted.
func (f *failover) rejoin() {
	f.t.Helper()
	if err := f.servers[1].Restart(); err != nil {
		f.t.Fatal(err)
	}
	f.replicate()
}

// confirmed returns the confirmed state of a call, once an edge has one that it reaches Redis for.
func (f *failover) confirmed(path string) (args string, yes map[string]any) {
	f.t.Helper()
	args = fmt.Sprintf(`{"path":%q}`, path)
	await.Until(f.t, "the edge asks", func() bool {
		asked := f.clients[0].call("wipe", args).final()
		if asked.Error == nil {
			yes = retry(f.t, asked.result(f.t), confirming(sayYes))
		}
		return asked.Error == nil
	})
	return args, yes
}

// settled sends a state to an edge until that reaches Redis, and returns the code of its answer; 0 if the call ran.
func (f *failover) settled(client int, args string, yes map[string]any) (code int) {
	f.t.Helper()
	await.Until(f.t, "Redis is reached", func() bool {
		m := f.clients[client].call("wipe", args, yes).final()
		if code = 0; m.Error != nil {
			code = m.Error.Code
			f.late = f.late || strings.Contains(m.Error.Message, "too few copies")
		}
		return code != -31503
	})
	return code
}

// TestConfirmFailover: a confirmed state that is sent to two replicas at once runs one call at most, whenever a failover of Redis loses its
// last writes, if a replica of Redis must have what was used.
func TestConfirmFailover(t *testing.T) {
	t.Parallel() // it waits for most of its time
	f := startFailover(t, 1)
	r := rand.New(rand.NewPCG(44, 1))
	const rounds = 16
	ran, unacknowledged := 0, 0
	for n := range rounds {
		args, yes := f.confirmed(fmt.Sprint("/", n))
		before := f.w.runs.Load()
		var work sync.WaitGroup
		var replies [4]message
		send := func(i int) { work.Go(func() { replies[i] = f.clients[i%2].call("wipe", args, yes).final() }) }
		steps := []func(){func() { f.link.Switch("") }, f.promote}
		for i := range replies { // The link is cut before the failover, and requests are sent at any time.
			at := r.IntN(len(steps) + 1)
			steps = append(steps[:at], append([]func(){func() { send(i) }}, steps[at:]...)...)
		}
		for _, step := range steps {
			for range r.IntN(4) { // a drawn moment, in requests
				f.clients[r.IntN(2)].call("look", `{"path":"a"}`)
				before++
			}
			step()
		}
		work.Wait()
		f.rejoin()
		for i := range 2 {
			f.settled(i, args, yes)
		}
		switch got := f.w.runs.Load() - before; {
		case got > 1:
			t.Fatalf("round %d: the confirmed call ran %d times", n, got)
		case got == 1:
			ran++
		}
		for _, reply := range replies {
			if strings.Contains(string(reply.raw), "too few copies") {
				unacknowledged++
			}
		}
	}
	t.Logf("of %d confirmed calls %d ran; %d requests were refused because no replica of Redis acknowledged them", rounds, ran, unacknowledged)
	if ran == 0 || unacknowledged == 0 {
		t.Error("the moments are not drawn well: calls should run, and be refused")
	}
}

// TestConfirmLostByAFailover: what happens to a confirmation that a failover of Redis loses, with and without the setting.
func TestConfirmLostByAFailover(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for demanded, want := range []int64{2, 1} {
		t.Run(fmt.Sprintf("%d demanded", demanded), func(t *testing.T) {
			for range 5 {
				if loseConfirmation(t, demanded, want) {
					return
				}
			}
			t.Error("five times the replica did not acknowledge in time")
		})
	}
}

// loseConfirmation has a failover lose a confirmation, and compares how often the call has run after it with want. It returns false if the new
// replica, as on a machine under load, did not acknowledge in time: then the confirmation is used, and the call has not run.
func loseConfirmation(t *testing.T, demanded int, want int64) bool {
	t.Helper()
	f := startFailover(t, demanded)
	args, yes := f.confirmed("/")
	f.link.Switch("")
	first := f.clients[0].call("wipe", args, yes)
	if demanded == 0 {
		first.result()
	} else if m := first.final().wantError(t, -31503); !strings.Contains(m.Error.Message, "call again without requestState") {
		t.Errorf("without a replica: %s", m.Error.Message)
	}
	if code := f.settled(1, args, yes); code != -31520 {
		t.Errorf("the same at another edge: %d", code)
	}
	f.w.ran(t, int64(1-demanded))
	f.promote()
	f.rejoin()
	f.late = false
	code := f.settled(1, args, yes)
	if f.late {
		return false
	}
	if code != 0 {
		t.Errorf("after the failover: %d", code)
	}
	f.w.ran(t, want)
	if code := f.settled(0, args, yes); code != -31520 {
		t.Errorf("the same at another edge: %d", code)
	}
	f.w.ran(t, want)
	return true
}
