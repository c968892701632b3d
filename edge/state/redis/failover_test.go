package redis_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// replicate makes a Redis the replica of the one at addr, and waits until it has the data and what
// is written after it: for up to a second after its link is up, a replica that was sent no command
// yet may be sent none.
func replicate(t *testing.T, c *goredis.Client, addr string) {
	t.Helper()
	host, port, _ := strings.Cut(addr, ":")
	must(t, c.ReplicaOf(t.Context(), host, port).Err())
	master, mark := connect(t, addr), fmt.Sprint("replicate ", time.Now().UnixNano())
	must(t, master.Set(t.Context(), mark, "", 0).Err())
	await.Until(t, "the replica has its master's data", func() bool {
		info := c.Info(t.Context(), "replication").Val()
		return strings.Contains(info, "master_link_status:up") && c.Exists(t.Context(), mark).Val() == 1
	})
	must(t, master.Del(t.Context(), mark).Err())
	await.Until(t, "the replica follows its master", func() bool { return c.Exists(t.Context(), mark).Val() == 0 })
}

// A replica is promoted that lacks the master's last writes: readers and writers are notified, the
// writer restores what it had acknowledged, no event id identifies two entries, and the call
// continues.
func TestInvariant2APromotedReplicaLacksTheLastWrites(t *testing.T) {
	t.Parallel()
	w := startTroubled(t)
	ctx := t.Context()
	second := redisserver.ForTest(t)
	link, promoted := startProxy(t, w.srv.Addr), connect(t, second.Addr)
	replicate(t, promoted, link.addr)
	must(t, w.append())
	await.Until(t, "the replica has the second event", func() bool {
		return promoted.XLen(ctx, "mcpedge:{s}:l:st").Val() == 2
	})
	link.refuse(true)
	for range 3 {
		must(t, w.append())
	}
	must(t, w.a.Create(ctx, record("lost")))
	seen := ids{t, map[string]string{}}
	if n := seen.read(w.b, medium.Position{}); n != 5 {
		t.Fatalf("%d events before the failover, want 5", n)
	}
	last := w.call.Entries[4].Position()

	w.srv.Kill()
	w.trip()
	must(t, promoted.Do(ctx, "replicaof", "no", "one").Err())
	w.p.pointAt(second.Addr)
	await.Until(t, "the promoted one is used", func() bool { return beat(t, w.a) == nil && beat(t, w.b) == nil })
	_, err := w.a.Load(ctx, "lost", true)
	want(t, state.ErrNotFound, err)

	var rewound *medium.RewoundError
	if err := w.append(); !errors.As(err, &rewound) || rewound.Epoch != last.Epoch || rewound.N != 2 {
		t.Fatalf("got error %v, want one that reports lost writes behind the second step", err)
	}
	p, err := w.b.Read(ctx, "s", "st", last, 0)
	must(t, err)
	if !p.Ahead || p.Last.Seq != 2 {
		t.Errorf("a reader that has what was lost gets %+v, want to wait", p)
	}
	if w.a.Stats().Rollbacks == 0 || w.b.Stats().Rollbacks == 0 {
		t.Error("the rollback was not counted")
	}
	if v, err := w.call.Restore(ctx); v != medium.Restored || err != nil {
		t.Fatalf("verdict %d, %v, want restored", v, err)
	}
	for range 3 {
		must(t, w.append())
	}
	must(t, w.call.Finish(ctx, []byte(`{}`)))
	if n := seen.read(w.b, medium.Position{}); n != 9 {
		t.Errorf("%d events, want the five that were there, three new ones and the response", n)
	}
	p, err = w.b.Read(ctx, "s", "st", last, 0)
	must(t, err)
	if len(p.Entries) != 4 || p.Ahead || !p.Ended {
		t.Errorf("a reader that waited gets %+v, want three events and the response", p)
	}
}

// ids are event ids that were read, and what they stand for.
type ids struct {
	*testing.T
	seen map[string]string
}

// read reads the stream behind a position, and returns how many entries there are.
func (x ids) read(r *redis.Replica, after medium.Position) int {
	x.Helper()
	p, err := r.Read(x.Context(), "s", "st", after, 0)
	must(x.T, err)
	for i := range p.Entries {
		id, text := p.Entries[i].Position().EventID("st"), string(p.Entries[i].Data)
		if was, ok := x.seen[id]; ok && was != text {
			x.Errorf("the event id %s stood for %s and stands for %s", id, was, text)
		}
		x.seen[id] = text
	}
	return len(p.Entries)
}

// startSentinel watches the master at addr under the name "edge".
func startSentinel(t *testing.T, addr string) string {
	t.Helper()
	dir := t.TempDir()
	conf := filepath.Join(dir, "sentinel.conf")
	host, port, _ := strings.Cut(addr, ":")
	own := freePort(t)
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor edge %s %s 1\n"+
		"sentinel down-after-milliseconds edge 300\nsentinel failover-timeout edge 2000\n", own, dir, host, port)
	must(t, os.WriteFile(conf, []byte(text), 0o600))
	cmd := exec.Command(redisserver.Require(t), conf, "--sentinel")
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	sentinel := net.JoinHostPort("127.0.0.1", fmt.Sprint(own))
	c := goredis.NewSentinelClient(&goredis.Options{Addr: sentinel})
	defer c.Close()
	await.Until(t, "Sentinel knows the replica", func() bool {
		list, err := c.Replicas(t.Context(), "edge").Result()
		return err == nil && len(list) == 1
	})
	return sentinel
}

// With Sentinel the client finds the promoted master by itself.
func TestSentinelFailsOver(t *testing.T) {
	t.Parallel()
	first, second := redisserver.ForTest(t), redisserver.ForTest(t)
	replicate(t, connect(t, second.Addr), first.Addr)
	c := goredis.NewUniversalClient(&goredis.UniversalOptions{
		MasterName: "edge", Addrs: []string{startSentinel(t, first.Addr)},
		DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, MaxRetries: 1, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { _ = c.Close() })
	w := &troubled{T: t, a: start(t, c, redis.Options{Replica: "a"}), b: start(t, c, redis.Options{Replica: "b"})}
	w.begin("s")
	must(t, connect(t, first.Addr).Do(t.Context(), "wait", 1, 0).Err())
	first.Kill()
	await.Until(t, "the promoted master has the session", func() bool {
		s, err := w.a.Load(t.Context(), "s", true)
		if err != nil {
			want(t, state.ErrUnavailable, err)
		}
		return err == nil && s.ID == "s" && w.append() == nil
	})
	w.recovered()
	w.whole()
}

// One node of a Cluster that is down costs the sessions of the others nothing.
func TestABreakerStandsBeforeEachNodeOfACluster(t *testing.T) {
	t.Parallel()
	nodes, addrs := startNodes(t, "--cluster-require-full-coverage", "no")
	c := goredis.NewClusterClient(&goredis.ClusterOptions{
		Addrs: addrs, DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, MaxRetries: 1, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { _ = c.Close() })
	r := start(t, c, redis.Options{})
	var there, gone string
	for i := 0; there == "" || gone == ""; i++ {
		id := fmt.Sprint("s", i)
		must(t, r.Create(t.Context(), record(id)))
		node, err := c.MasterForKey(t.Context(), "mcpedge:{"+id+"}")
		must(t, err)
		if node.Options().Addr == addrs[2] {
			gone = id
		} else {
			there = id
		}
	}
	load := func(id string) error {
		_, err := r.Load(t.Context(), id, true)
		return err
	}
	nodes[2].Kill()
	await.Until(t, "the node is found not to answer", func() bool {
		err := load(gone)
		want(t, state.ErrUnavailable, err)
		return r.Stats().Trips == 1
	})
	before := r.Stats().Rejected
	if err := load(gone); r.Stats().Rejected != before+1 || !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("a session of the lost node, of which nothing is to be asked: %v", err)
	}
	if err := load(there); r.Stats().Rejected != before+1 || err != nil {
		t.Errorf("a session of another node: %v", err)
	}
	must(t, nodes[2].Restart())
	await.Until(t, "the node is used again", func() bool {
		err := load(gone)
		return err == nil || errors.Is(err, state.ErrNotFound)
	})
	if s := r.Stats(); s.Rejected == 0 {
		t.Errorf("stats %+v", s)
	}
}
