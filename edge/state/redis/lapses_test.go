package redis_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// lapsing is two replicas that reach one Redis by ways of their own; the first runs a call.
type lapsing struct {
	*testing.T
	direct     *goredis.Client
	toA, toB   *proxy
	a, b       *redis.Replica
	lease      time.Duration
	heartbeats string
	// n counts the replicas that were lost.
	n int
}

func startLapsing(t *testing.T) *lapsing {
	t.Helper()
	addr := startServer(t)
	w := &lapsing{T: t, direct: connect(t, addr), toA: startProxy(t, addr), toB: startProxy(t, addr), lease: 500 * time.Millisecond, heartbeats: "mcpedge:r:"}
	w.a, w.b = w.replica(w.toA, "a"), w.replica(w.toB, "b")
	must(t, w.a.Create(t.Context(), record("s")))
	return w
}

func (w *lapsing) replica(p *proxy, name string) *redis.Replica {
	w.Helper()
	c := goredis.NewClient(eager(p))
	w.Cleanup(func() { _ = c.Close() })
	return start(w.T, c, redis.Options{Replica: name, Limits: state.Limits{Lease: w.lease}})
}

// beats reports whether Redis has the heartbeat of a replica.
func (w *lapsing) beats(name string) bool {
	keys, err := w.direct.Keys(w.Context(), w.heartbeats+name+"-*").Result()
	must(w.T, err)
	return len(keys) > 0
}

// expire makes all heartbeats expire, as a leap of Redis's clock does.
func (w *lapsing) expire() {
	w.Helper()
	keys, err := w.direct.Keys(w.Context(), w.heartbeats+"*").Result()
	must(w.T, err)
	must(w.T, w.direct.Del(w.Context(), keys...).Err())
}

// trusted waits until a replica would find a lost one: it beats, like the others, for as long as a
// missing heartbeat is not taken for a loss. A replica that is lost shows when that is over.
func (w *lapsing) trusted(by *redis.Replica, others ...*redis.Replica) {
	w.Helper()
	w.n++
	name := fmt.Sprint("dead", w.n)
	call := begin(w.T, w.replica(w.toA, name), "s", name, name)
	await.Until(w.T, "a replica that is lost is found", func() bool {
		for _, r := range others {
			must(w.T, beat(w.T, r))
		}
		return contains(w.T, by, call.Record.ID)
	})
}

// contains reports whether a call is among the orphans that a replica finds.
func contains(t *testing.T, r *redis.Replica, call string) bool {
	t.Helper()
	list, err := r.Beat(t.Context(), 1000, false)
	must(t, err)
	for _, o := range list {
		if o.Call == call {
			return true
		}
	}
	return false
}

// While Redis is away no replica can send a heartbeat, so one that finds it back first takes no
// calls of the others.
func TestSilenceWhileRedisIsAwayIsNoLoss(t *testing.T) {
	t.Parallel()
	w := startLapsing(t)
	call := begin(t, w.a, "s", "st", "c")
	w.trusted(w.b, w.a)
	w.toA.refuse(true)
	w.toB.refuse(true)
	await.Until(t, "b's heartbeat fails", func() bool { return beat(t, w.b) != nil })
	await.Until(t, "a's heartbeat has expired", func() bool { return !w.beats("a") })
	w.toB.refuse(false)
	var orphans []medium.ClaimTarget
	await.Until(t, "b reaches Redis again", func() (ok bool) {
		var err error
		orphans, err = w.b.Beat(t.Context(), 1000, false)
		return err == nil
	})
	for _, o := range orphans {
		if o.Call == call.Record.ID {
			t.Error("b takes the call of a, which could not send a heartbeat while Redis was away")
		}
	}
	w.toA.refuse(false)
	await.Until(t, "a reaches Redis again", func() bool { return beat(t, w.a) == nil })
	must(t, call.Append(t.Context(), state.Entry{Kind: state.EntryNotice, Data: []byte("1")}))
	w.trusted(w.b, w.a)
	if contains(t, w.b, call.Record.ID) {
		t.Error("the call is an orphan though its owner beats")
	}
	// One that stays away is lost.
	w.toA.refuse(true)
	await.Until(t, "the call of a is an orphan", func() bool { return contains(t, w.b, call.Record.ID) })
}

// A replica whose own heartbeat has expired does not take that of others for lost: Redis's clock
// leapt, or the machine stood still.
func TestHeartbeatsThatExpireTogetherAreNoLoss(t *testing.T) {
	t.Parallel()
	w := startLapsing(t)
	call := begin(t, w.a, "s", "st", "c")
	w.trusted(w.b, w.a)
	w.expire()
	if contains(t, w.b, call.Record.ID) {
		t.Error("b takes the call of a, whose heartbeat expired together with its own")
	}
	must(t, beat(t, w.a))
	w.trusted(w.b, w.a)
	if contains(t, w.b, call.Record.ID) {
		t.Error("the call is an orphan though its owner beats")
	}
}

// A replica that has just started does not know whether Redis was away before: it waits a lease,
// but not for the calls of those who left.
func TestNewReplicasGiveOthersALease(t *testing.T) {
	t.Parallel()
	w := startLapsing(t)
	silent := begin(t, w.a, "s", "st", "silent")
	w.expire()
	must(t, w.b.Create(t.Context(), record("t")))
	left := begin(t, w.b, "t", "st", "left")
	_, err := w.b.Beat(t.Context(), 0, true)
	must(t, err)
	began := time.Now()
	next := w.replica(w.toB, "next")
	if contains(t, next, silent.Record.ID) && time.Since(began) < w.lease {
		t.Error("a new replica takes the call of one that may not have been able to send a heartbeat")
	}
	if !contains(t, next, left.Record.ID) {
		t.Error("a new replica leaves the call of one that has left")
	}
	await.Until(t, "the call of the silent replica is an orphan", func() bool { return contains(t, next, silent.Record.ID) })
}

// A sweep that took so long that the heartbeats of all expired meanwhile finds no replica lost.
func TestHeartbeatsThatExpireDuringASweepAreNoLoss(t *testing.T) {
	t.Parallel()
	w := startLapsing(t)
	call := begin(t, w.a, "s", "st", "c")
	c := connect(t, w.toB.target)
	slow := &slowSweep{held: make(chan struct{}), entered: make(chan struct{})}
	r := start(t, c, redis.Options{Replica: "slow", Limits: state.Limits{Lease: w.lease}})
	w.trusted(r, w.a)
	c.AddHook(slow)
	done := make(chan bool, 1)
	go func() { done <- contains(t, r, call.Record.ID) }()
	<-slow.entered
	await.Until(t, "the heartbeats of both have expired", func() bool { return !w.beats("a") && !w.beats("slow") })
	close(slow.held)
	if <-done {
		t.Error("a call is taken from a replica whose heartbeat expired while none could be sent")
	}
}

// A Beat that looks for orphans on a slow Redis does not keep the next from being sent.
func TestHeartbeatsDoNotWaitForSweeps(t *testing.T) {
	t.Parallel()
	addr := startServer(t)
	direct := connect(t, addr)
	c := connect(t, addr)
	slow := &slowSweep{held: make(chan struct{}), entered: make(chan struct{})}
	c.AddHook(slow)
	r := start(t, c, redis.Options{Replica: "r"})
	done := make(chan error, 1)
	go func() {
		_, err := r.Beat(t.Context(), 1000, false)
		done <- err
	}()
	<-slow.entered
	keys, err := direct.Keys(t.Context(), "mcpedge:r:*").Result()
	must(t, err)
	must(t, direct.Del(t.Context(), keys...).Err())
	must(t, beat(t, r))
	if n := direct.Exists(t.Context(), keys...).Val(); n != 1 || !strings.Contains(keys[0], "r-") {
		t.Errorf("%d heartbeats of %q while a sweep hangs", n, keys)
	}
	orphans, err := r.Beat(t.Context(), 1000, false)
	must(t, err)
	if len(orphans) != 0 {
		t.Errorf("orphans %v of a Beat beside a sweep", orphans)
	}
	close(slow.held)
	must(t, <-done)
}

// slowSweep holds the first sweep of a client, which begins by asking for the time, until held is
// closed.
type slowSweep struct {
	entered, held chan struct{}
	once          sync.Once
}

func (s *slowSweep) DialHook(next goredis.DialHook) goredis.DialHook          { return next }
func (s *slowSweep) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook { return next }

func (s *slowSweep) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		if cmds[0].Name() == "time" {
			s.once.Do(func() {
				close(s.entered)
				<-s.held
			})
		}
		return next(ctx, cmds)
	}
}
