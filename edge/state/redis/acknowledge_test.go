package redis_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// made makes a session with a call, whose beginning is what replicas of Redis have to acknowledge.
func made(t *testing.T, r *redis.Replica, session string) (*statetest.Writer, error) {
	t.Helper()
	if err := r.Create(t.Context(), record(session)); err != nil {
		return nil, err
	}
	w, err := statetest.Begin(t.Context(), r, session, "st", call("c"))
	if err != nil {
		return nil, err
	}
	return w[0], nil
}

// acknowledged is made for a call that the replicas of Redis acknowledge, which may take a busy machine longer than a beginning waits.
func acknowledged(t *testing.T, r *redis.Replica, session string) *statetest.Writer {
	t.Helper()
	must(t, r.Create(t.Context(), record(session)))
	var w []*statetest.Writer
	awaitAcknowledged(t, func() (err error) {
		w, err = statetest.Begin(t.Context(), r, session, "st", call("c"))
		return err
	})
	return w[0]
}

// awaitAcknowledged repeats begin until it is acknowledged.
func awaitAcknowledged(t *testing.T, begin func() error) {
	t.Helper()
	await.Until(t, "an acknowledgement", func() bool {
		err := begin()
		if err != nil {
			want(t, state.ErrUnacknowledged, err)
		}
		return err == nil
	})
}

// What begins is acknowledged by as many replicas of Redis as are demanded, or it is an error that
// says so: none is there, it is paused, it is lost, it is back. Nothing else waits for replicas,
// and the server counts as one that answers.
func TestBeginIsAcknowledged(t *testing.T) {
	t.Parallel()
	master, second := redisserver.ForTest(t), redisserver.ForTest(t)
	r := start(t, connect(t, master.Addr), redis.Options{Acknowledge: 1})
	refused := func(what, session string) {
		t.Helper()
		_, err := made(t, r, session)
		if want(t, state.ErrUnacknowledged, err); !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("%s: %v is not state.ErrUnavailable", what, err)
		}
	}
	refused("without a replica", "alone")
	replica := connect(t, second.Addr)
	replicate(t, replica, master.Addr)
	must(t, connect(t, master.Addr).ScriptFlush(t.Context()).Err())
	w := acknowledged(t, r, "one")
	if replica.Exists(t.Context(), "mcpedge:{one}:c:c").Val() != 1 {
		t.Error("the replica that acknowledged the call does not have it")
	}

	must(t, second.Pause())
	refused("paused", "two")
	_, err := statetest.Begin(t.Context(), r, "two", "other", call("d"))
	want(t, state.ErrUnacknowledged, err)
	// What need not be acknowledged is not.
	must(t, w.Append(t.Context(), state.Entry{Kind: state.EntryNotice, Data: []byte(`1`)}))
	must(t, r.Delete(t.Context(), "two"))
	must(t, second.Resume())
	acknowledged(t, r, "three")

	second.Kill()
	refused("lost", "four")
	must(t, second.Restart())
	replicate(t, connect(t, second.Addr), master.Addr)
	acknowledged(t, r, "five")
	if s := r.Stats(); !s.Healthy || s.Trips > 0 {
		t.Errorf("stats %+v: Redis answered all the while", s)
	}
}

// A beginning that is sent again is not taken for acknowledged.
func TestRepeatedBeginIsAcknowledged(t *testing.T) {
	t.Parallel()
	master, second := redisserver.ForTest(t), redisserver.ForTest(t)
	replicate(t, connect(t, second.Addr), master.Addr)
	r := start(t, connect(t, master.Addr), redis.Options{Acknowledge: 1})
	acknowledged(t, r, "s")
	again := func() error {
		_, err := statetest.Begin(t.Context(), r, "s", "st", call("c"))
		return err
	}
	awaitAcknowledged(t, again)
	must(t, second.Pause())
	for range 2 {
		want(t, state.ErrUnacknowledged, again())
	}
	must(t, second.Resume())
	awaitAcknowledged(t, again)
}

// Many that wait for replicas that are gone leave connections for what need not wait.
func TestWaitingLeavesConnections(t *testing.T) {
	t.Parallel()
	const connections = 24
	master := redisserver.ForTest(t)
	c := goredis.NewClient(&goredis.Options{Addr: master.Addr, PoolSize: connections, PoolTimeout: patience, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	r := start(t, c, redis.Options{Acknowledge: 1})
	must(t, r.Create(t.Context(), record("s")))
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			if _, err := made(t, r, fmt.Sprint("waits", i)); !errors.Is(err, state.ErrUnacknowledged) {
				t.Errorf("got error %v, want %v", err, state.ErrUnacknowledged)
			}
		})
	}
	direct, most := connect(t, master.Addr), 0
	await.Until(t, "beginnings that wait", func() bool { most = max(most, blocked(t, direct)); return most > 0 })
	for range 20 {
		_, err := r.Load(t.Context(), "s", true)
		must(t, err)
		most = max(most, blocked(t, direct))
	}
	all.Wait()
	if most >= connections*3/4 {
		t.Errorf("%d of %d connections wait", most, connections)
	}
	if s := r.Stats(); s.Trips > 0 {
		t.Errorf("stats %+v: Redis answered all the while", s)
	}
}

// blocked returns how many connections wait for replicas of Redis.
func blocked(t *testing.T, direct *goredis.Client) (n int) {
	t.Helper()
	text, err := direct.Info(t.Context(), "clients").Result()
	must(t, err)
	_, after, _ := strings.Cut(text, "blocked_clients:")
	_, err = fmt.Sscan(after, &n)
	must(t, err)
	return n
}

// What was acknowledged is there when the replica takes the place of its master.
func TestAcknowledgedWritesOutliveAFailover(t *testing.T) {
	t.Parallel()
	first, second := redisserver.ForTest(t), redisserver.ForTest(t)
	promoted := connect(t, second.Addr)
	replicate(t, promoted, first.Addr)
	p := startProxy(t, first.Addr)
	c := goredis.NewClient(eager(p))
	t.Cleanup(func() { _ = c.Close() })
	r := start(t, c, redis.Options{Acknowledge: 1})
	var kept []string
	for i := range 50 {
		id := fmt.Sprint("s", i)
		if i == 49 { // The last one at the same moment: its client got no reply.
			must(t, second.Pause())
			_, err := made(t, r, id)
			want(t, state.ErrUnacknowledged, err)
			first.Kill()
			must(t, second.Resume())
			break
		}
		acknowledged(t, r, id)
		kept = append(kept, id)
	}
	must(t, promoted.Do(t.Context(), "replicaof", "no", "one").Err())
	p.pointAt(second.Addr)
	await.Until(t, "the promoted one is used", func() bool { return beat(t, r) == nil })
	for _, id := range kept {
		if n := promoted.Exists(t.Context(), "mcpedge:{"+id+"}", "mcpedge:{"+id+"}:c:c").Val(); n != 2 {
			t.Errorf("of %s the promoted one has %d of 2 keys", id, n)
		}
	}
}

// In a Cluster the node that has the task is the one whose replicas are asked.
func TestANodeOfAClusterIsAcknowledgedByItsOwnReplicas(t *testing.T) {
	t.Parallel()
	_, addrs := startNodes(t, "--cluster-require-full-coverage", "no")
	nodes := map[string]*redisserver.Server{} // the replica of each master, by the master's address
	for _, addr := range addrs {
		s := startNode(t)
		nodes[addr] = s
		c, master := connect(t, s.Addr), connect(t, addr)
		id := master.ClusterMyID(t.Context()).Val()
		bus := master.ConfigGet(t.Context(), "cluster-port").Val()["cluster-port"]
		must(t, c.Do(t.Context(), "cluster", "meet", "127.0.0.1", addr[len("127.0.0.1:"):], bus).Err())
		await.Until(t, "the replica is one", func() bool { return c.ClusterReplicate(t.Context(), id).Err() == nil })
		await.Until(t, "the replica has its master's data", func() bool {
			return master.Do(t.Context(), "wait", 1, 100).Val() == int64(1)
		})
	}
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	r := start(t, c, redis.Options{Acknowledge: 1})
	lost := addrs[2]
	nodes[lost].Kill()
	seen := map[bool]int{}
	for i := range 30 {
		id := fmt.Sprint("s", i)
		node, err := c.MasterForKey(t.Context(), "mcpedge:{"+id+"}")
		must(t, err)
		alone := node.Options().Addr == lost
		if seen[alone]++; seen[alone] > 3 {
			continue
		}
		if !alone {
			acknowledged(t, r, id)
			continue
		}
		_, err = made(t, r, id)
		want(t, state.ErrUnacknowledged, err)
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("sessions of nodes with a replica and without: %v", seen)
	}
}
