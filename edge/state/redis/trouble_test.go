package redis_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// eager are the options of a client of a proxy that gives up soon while the proxy holds back, as the edge's does when Redis hangs, and is
// patient otherwise.
func eager(p *proxy) *goredis.Options {
	return &goredis.Options{
		Addr: p.addr, Dialer: p.dial, DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, PoolTimeout: patience,
		MaxRetries: 1, DialerRetries: 1, ContextTimeoutEnabled: true,
	}
}

// troubled is a Redis behind a proxy, two replicas that use it, and a session with a call that
// runs.
type troubled struct {
	*testing.T
	srv  *redisserver.Server
	p    *proxy
	a, b *redis.Replica
	// call runs in the session; n of its entries were taken.
	call *statetest.Writer
	n    uint64
}

func startTroubled(t *testing.T, args ...string) *troubled {
	t.Helper()
	srv := redisserver.ForTest(t, args...)
	w := &troubled{T: t, srv: srv, p: startProxy(t, srv.Addr)}
	for i, r := range []**redis.Replica{&w.a, &w.b} {
		c := goredis.NewClient(eager(w.p))
		t.Cleanup(func() { _ = c.Close() })
		*r = start(t, c, redis.Options{Replica: string(rune('a' + i))})
	}
	if !w.a.Stats().Healthy {
		t.Error("not healthy after its start")
	}
	w.begin("s")
	return w
}

// begin makes a session with a call that runs and one event in its log.
func (w *troubled) begin(id string) {
	w.Helper()
	must(w.T, w.a.Create(w.Context(), record(id)))
	w.call, w.n = begin(w.T, w.a, id, "st", "c"), 0
	must(w.T, w.append())
}

// append writes the next event, or the same again after an error.
func (w *troubled) append() error {
	err := w.call.Append(w.Context(), state.Entry{Kind: state.EntryNotice, Data: fmt.Append(nil, w.n+1)})
	if err == nil {
		w.n++
	}
	return err
}

// follow gives a token for each time that a follower is woken.
func follow(r *redis.Replica, session, stream string) (<-chan struct{}, func()) {
	token := make(chan struct{}, 1)
	return token, r.Follow(session, stream, func() {
		select {
		case token <- struct{}{}:
		default:
		}
	})
}

// trip uses Redis until it is found not to answer.
func (w *troubled) trip() {
	w.Helper()
	await.Until(w.T, "Redis is found not to answer", func() bool {
		_, errA := w.a.Load(w.Context(), "s", true)
		_, errB := w.b.Load(w.Context(), "s", true)
		want(w.T, state.ErrUnavailable, errA)
		want(w.T, state.ErrUnavailable, errB)
		return !w.a.Stats().Healthy && w.a.Stats().Trips == 1 && w.b.Stats().Trips == 1
	})
}

// fast says that everything that needs Redis fails at once: nothing is sent. To follow a stream
// needs nothing.
func (w *troubled) fast() {
	w.Helper()
	ctx := w.Context()
	for name, op := range map[string]func() error{
		"Load":    func() error { _, err := w.a.Load(ctx, "s", true); return err },
		"Create":  func() error { return w.a.Create(ctx, record("new")) },
		"Append":  w.append,
		"Begin":   func() error { _, err := statetest.Begin(ctx, w.a, "s", "new", call("new")); return err },
		"Answer":  func() error { _, _, err := w.a.Answer(ctx, "s", "q", state.Answer{}, 1); return err },
		"Touch":   func() error { _, err := w.a.Touch(ctx, []string{"s"}, true); return err },
		"Beat":    func() error { return beat(w.T, w.a) },
		"Orphans": func() error { _, err := w.a.Beat(ctx, 1, false); return err },
		"Notify":  func() error { return w.a.Notify(ctx, state.SessionEvent{Session: "s"}) },
	} {
		before := w.a.Stats().Rejected
		want(w.T, state.ErrUnavailable, op())
		if w.a.Stats().Rejected == before {
			w.Errorf("%s was sent while Redis is known not to answer", name)
		}
	}
	w.a.Follow("s", "st", func() {})()
}

// recovered says that both replicas are well again by themselves, wake-ups too.
func (w *troubled) recovered() {
	w.Helper()
	await.Until(w.T, "both replicas are healthy", func() bool {
		return beat(w.T, w.a) == nil && beat(w.T, w.b) == nil && w.a.Stats().Healthy && w.b.Stats().Healthy
	})
	wake, stop := follow(w.b, w.call.Record.Session, "st")
	defer stop()
	// What was woken by the new subscription is over once reading finds nothing new.
	await.Until(w.T, "b is woken by what a writes", func() bool {
		select {
		case <-wake:
		default:
		}
		must(w.T, w.append())
		select {
		case <-wake:
			return true
		case <-time.After(50 * time.Millisecond):
			return false
		}
	})
}

// whole says that the log has every event once, in order.
func (w *troubled) whole() {
	w.Helper()
	p, err := w.b.Read(w.Context(), w.call.Record.Session, "st", medium.Position{}, 0)
	must(w.T, err)
	for i, e := range p.Entries {
		if string(e.Data) != fmt.Sprint(i+1) || e.Seq != uint64(i+1) {
			w.Fatalf("event %d is %s at %d", i+1, e.Data, e.Seq)
		}
	}
	if uint64(len(p.Entries)) != w.n || p.Last != (medium.Position{Epoch: w.call.Record.Epoch, Seq: w.n}) {
		w.Errorf("%d events, the last at %+v, want %d", len(p.Entries), p.Last, w.n)
	}
}

func TestRedisIsSlow(t *testing.T) {
	t.Parallel()
	w := startTroubled(t)
	w.p.hold()
	w.trip()
	w.fast()
	w.p.release()
	w.recovered()
	w.whole()
}

func TestRedisIsDownForAWhile(t *testing.T) {
	t.Parallel()
	w := startTroubled(t)
	for range 2 {
		up := w.a.Stats().Since
		w.p.refuse(true)
		await.Until(t, "an error", func() bool { return w.append() != nil })
		await.Until(t, "Redis is found not to answer", func() bool { _ = w.append(); return !w.a.Stats().Healthy })
		down := w.a.Stats()
		w.fast()
		if now := w.a.Stats(); !down.Since.After(up) || now.Healthy || !now.Since.Equal(down.Since) {
			t.Errorf("away since %v, and after more errors since %v; there before since %v", down.Since, now.Since, up)
		}
		w.p.refuse(false)
		w.recovered()
		if now := w.a.Stats(); !now.Since.After(down.Since) {
			t.Errorf("there again since %v, away since %v", now.Since, down.Since)
		}
	}
	w.whole()
}

func TestRedisRestartsWithItsData(t *testing.T) {
	t.Parallel()
	w := startTroubled(t, "--appendonly", "yes", "--appendfsync", "always")
	w.srv.Kill()
	w.trip()
	w.fast()
	must(t, w.srv.Restart())
	w.recovered()
	w.whole()
}

// A replica is notified that Redis was away, whether its connections broke or its requests hung.
func TestReplicasAreNotifiedThatRedisWasAway(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(w *troubled){
		"broken": func(w *troubled) { w.p.refuse(false) },
		"hangs":  func(w *troubled) { w.p.hold(); w.trip(); w.p.release() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			notified := [2]chan struct{}{make(chan struct{}, 100), make(chan struct{}, 100)}
			w := startTroubled(t)
			for i, r := range []*redis.Replica{w.a, w.b} {
				r.Store(medium.Hooks{Returning: func() { notified[i] <- struct{}{} }})
			}
			away(w)
			for i := range notified {
				select {
				case <-notified[i]:
				case <-time.After(patience):
					t.Fatalf("replica %d was not notified within %s", i, patience)
				}
			}
			w.recovered()
		})
	}
}

func TestRedisRestartsEmpty(t *testing.T) {
	t.Parallel()
	w := startTroubled(t)
	old := w.call
	w.srv.Kill()
	w.trip()
	must(t, w.srv.Restart())
	await.Until(t, "the replica beats again", func() bool { return beat(t, w.a) == nil })
	_, err := w.a.Load(t.Context(), "s", true)
	want(t, state.ErrNotFound, err)
	want(t, state.ErrNotFound, old.Append(t.Context()))
	got, err := w.a.Touch(t.Context(), []string{"s"}, true)
	must(t, err)
	if len(got) != 0 {
		t.Errorf("touched %v in an empty Redis", got)
	}
	w.begin("new")
	w.recovered()
	w.whole()
}

// However many wait for a Redis that hangs, each knows in time.
func TestHangingRedisHasNoQueue(t *testing.T) {
	t.Parallel()
	srv := redisserver.ForTest(t)
	p := startProxy(t, srv.Addr)
	o := eager(p)
	o.PoolSize, o.PoolTimeout = 4, holdTimeout
	c := goredis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	r := start(t, c, redis.Options{})
	must(t, r.Create(t.Context(), record("s")))
	p.hold()
	var wg sync.WaitGroup
	for range 1000 { // in a queue the last one would wait for minutes
		wg.Go(func() {
			begin := time.Now()
			if _, err := r.Load(t.Context(), "s", true); !errors.Is(err, state.ErrUnavailable) {
				t.Errorf("error %v", err)
			}
			if took := time.Since(begin); took > patience/2 {
				t.Errorf("waited %v", took)
			}
		})
	}
	wg.Wait()
	p.release()
	await.Until(t, "Redis answers again", func() bool { _, err := r.Load(t.Context(), "s", true); return err == nil })
}

// A caller that leaves, or that has little time, says nothing about Redis.
func TestEndedContextsTripNothing(t *testing.T) {
	t.Parallel()
	w := startTroubled(t)
	w.p.hold()
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := w.a.Load(ctx, "s", true)
		want(t, context.DeadlineExceeded, err)
		cancel()
	}
	w.p.release()
	if s := w.a.Stats(); s.Trips != 0 || !s.Healthy {
		t.Errorf("stats %+v", s)
	}
}

// Replies by which Redis reports that it cannot serve are explained with the remedy.
func TestErrorRepliesAreExplained(t *testing.T) {
	t.Parallel()
	srv := redisserver.ForTest(t)
	c := connect(t, srv.Addr)
	r := start(t, c, redis.Options{})
	must(t, r.Create(t.Context(), record("s")))
	explains := func(err error, word, why string) {
		t.Helper()
		want(t, state.ErrUnavailable, err)
		if text := err.Error(); !strings.Contains(text, why) || !strings.Contains(text, word) {
			t.Errorf("%q does not say %q", text, why)
		}
	}
	must(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, err := statetest.Begin(t.Context(), r, "s", "st", call("c"))
	explains(err, "OOM", "Redis is out of memory (maxmemory, noeviction)")
	explains(beat(t, r), "OOM", "Redis is out of memory (maxmemory, noeviction)")
	must(t, c.ConfigSet(t.Context(), "maxmemory", "0").Err())

	other := connect(t, startServer(t))
	replicate(t, other, srv.Addr)
	replica, err := redis.New(other, redis.Options{})
	must(t, err)
	defer replica.Close()
	explains(replica.Start(t.Context()), "READONLY", "read-only replica")
	_, err = replica.Load(t.Context(), "s", true)
	explains(err, "READONLY", "read-only replica")

	// None of it is a server that does not answer.
	must(t, beat(t, r))
	if s := r.Stats(); s.Trips != 0 || !s.Healthy {
		t.Errorf("stats %+v", s)
	}
}

// A Redis that answers with errors does not count as back: the log says so when a heartbeat is
// stored, and Stats has the cause until then.
func TestRedisIsBackOnceItStoresHeartbeats(t *testing.T) {
	t.Parallel()
	var log lines
	srv := redisserver.ForTest(t)
	p, admin := startProxy(t, srv.Addr), connect(t, srv.Addr)
	password := func(is string) {
		must(t, admin.Do(t.Context(), "ACL", "SETUSER", "edge", "on", "resetpass", ">"+is, "~*", "&*", "+@all").Err())
	}
	password("old")
	o := eager(p)
	o.Username, o.Password = "edge", "old"
	c := goredis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	r := start(t, c, redis.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err := r.Stats().Err; err != nil {
		t.Errorf("reachable, with the error %v", err)
	}
	const away, back = "Redis does not answer", "Redis can be used again"
	p.refuse(true)
	await.Until(t, "Redis is found not to answer", func() bool { _, _ = r.Load(t.Context(), "s", true); return !r.Stats().Healthy })
	if err := r.Stats().Err; err == nil || errors.Is(err, redis.ErrResting) {
		t.Errorf("the cause is %v", err)
	}
	password("new")
	p.refuse(false)
	await.Until(t, "Redis refuses the password", func() bool {
		err := beat(t, r)
		return err != nil && strings.Contains(err.Error(), "WRONGPASS")
	})
	if s := r.Stats(); s.Healthy || !strings.Contains(s.Err.Error(), "Redis does not accept the user name or password") {
		t.Errorf("healthy: %t, with the error %v", s.Healthy, s.Err)
	}
	if log.count(away) != 1 || log.count(back) != 0 {
		t.Errorf("while the password is refused:\n%s", &log)
	}
	password("old")
	await.Until(t, "Redis can be used", func() bool { return beat(t, r) == nil })
	must(t, beat(t, r))
	if s := r.Stats(); !s.Healthy || s.Err != nil || log.count(back) != 1 {
		t.Errorf("healthy: %t, with the error %v:\n%s", s.Healthy, s.Err, &log)
	}
}

// A start that is tried again says once that the eviction policy is unknown, and never that Redis
// can be used.
func TestSilentPolicyIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var log lines
	addr := startServer(t)
	must(t, connect(t, addr).Do(t.Context(), "ACL", "SETUSER", "edge", "on", ">PASSWORD", "~other:*", "&*", "+@all", "-config").Err())
	r, err := redis.New(loggedIn(t, addr), redis.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	defer r.Close()
	for range 3 {
		want(t, state.ErrUnavailable, r.Start(t.Context()))
	}
	if n := log.count("does not report its eviction policy"); n != 1 {
		t.Errorf("%d lines:\n%s", n, &log)
	}
	must(t, connect(t, addr).Do(t.Context(), "ACL", "SETUSER", "edge", "~*", "resetchannels").Err())
	for range 3 {
		want(t, state.ErrUnavailable, r.Start(t.Context()))
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines:\n%s", n, &log)
	}
	if s := r.Stats(); s.Healthy || s.Err == nil || !strings.Contains(s.Err.Error(), "channel") {
		t.Errorf("healthy: %t, with the error %v", s.Healthy, s.Err)
	}
}

// lines is a log. It is safe for concurrent use.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) count(message string) int { return strings.Count(l.String(), message) }
