package redis_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"text/tabwriter"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
)

// trips counts what a client sends: a command, or a pipeline, is one round trip.
type trips struct{ n atomic.Int32 }

func (x *trips) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (x *trips) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		x.n.Add(1)
		return next(ctx, cmd)
	}
}

func (x *trips) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		x.n.Add(1)
		return next(ctx, cmds)
	}
}

// mostCommands bounds what the scripts run that are on the way of a call's events. Where a session
// needs more than its caller's account has lent it, that takes seven of them.
var mostCommands = map[string]int{
	"Begin": 33, "Append of one event": 14, "Append of 32 events": 19, "Finish": 30, "Finish behind 32 events": 31,
	"Conclude behind 32 events": 28, "Touch": 1,
}

// What each operation takes: round trips, the commands that its script runs, and Redis's time. What
// is on the way of a call's events is one round trip.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	addr := startServer(t)
	c, admin := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true}), connect(t, addr)
	t.Cleanup(func() { _ = c.Close() })
	sent := new(trips)
	c.AddHook(sent)
	ctx := t.Context()
	r, other := start(t, c, redis.Options{Replica: "r"}), start(t, connect(t, addr), redis.Options{Replica: "other"})

	var table bytes.Buffer
	out := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(out, "operation\tround trips\tscripts\tcommands in scripts\tpublished\tµs of Redis\t\n")
	measure := func(name string, most int32, op func() error) {
		t.Helper()
		must(t, admin.ConfigResetStat(ctx).Err())
		sent.n.Store(0)
		if err := op(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n := sent.n.Load()
		calls, took := commandStats(t, admin)
		scripts, inside := calls["evalsha"]+calls["eval"], 0
		for cmd, count := range calls {
			if !slices.Contains([]string{"evalsha", "eval", "config|resetstat", "info", "hello", "client|setinfo"}, cmd) {
				inside += count
			}
		}
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\t\n", name, n, scripts, inside, calls["publish"], took.Microseconds())
		if bound, ok := mostCommands[name]; ok && inside > bound {
			t.Errorf("%s runs %d commands, at most %d were meant to do", name, inside, bound)
		}
		if n > most {
			t.Errorf("%s takes %d round trips, at most %d were meant to do", name, n, most)
		}
	}
	var rec *state.Session
	var w *statetest.Writer
	var stop func()
	log := func(n int) []state.Entry {
		return slices.Repeat([]state.Entry{{Kind: state.EntryLog, Data: bytes.Repeat([]byte("x"), 200)}}, n)
	}
	begins := func(stream, id string) func() error {
		return func() error {
			list, err := statetest.Begin(ctx, r, "s", stream, call(id))
			w = list[0]
			return err
		}
	}
	run := func(measure func(string, int32, func() error)) {
		measure("Create", 2, func() error { return r.Create(ctx, record("s")) })
		measure("Load", 1, func() error { _, err := r.Load(ctx, "s", true); return err })
		measure("Touch", 1, func() error { _, err := r.Touch(ctx, []string{"s"}, true); return err })
		measure("Update", 2, func() (err error) { rec, err = r.Update(ctx, "s", state.Patch{Attach: true}); return err })
		measure("Update of what is known", 1, func() error {
			_, err := r.Update(ctx, "s", state.Patch{From: rec, Subscribe: "x://1"})
			return err
		})
		// Now and then one to renew the session's place in its principal's count.
		measure("Begin", 2, begins("st", "c"))
		measure("Append of one event", 1, func() error { return w.Append(ctx, log(1)...) })
		measure("Append of 32 events", 1, func() error { return w.Append(ctx, log(32)...) })
		measure("Read of 33 events", 1, func() error {
			p, err := r.Read(ctx, "s", "st", medium.Position{}, 0)
			if err == nil && len(p.Entries) != 33 {
				err = fmt.Errorf("%d entries", len(p.Entries))
			}
			return err
		})
		measure("Follow", 1, func() error { stop = r.Follow("s", "st", func() {}); return nil })
		measure("end of Follow", 1, func() error { stop(); return nil })
		wake, end := follow(other, "s", "st")
		measure("Append that wakes another replica", 1, func() error {
			for len(wake) > 0 {
				<-wake
			}
			err := w.Append(ctx, log(1)...)
			<-wake
			return err
		})
		end()
		measure("Ask", 1, func() error { return w.Ask(ctx, []byte("state"), state.Ask{ID: "q", Key: "k", Message: []byte(`{}`)}) })
		measure("Answer that completes", 1, func() error {
			_, o, err := r.Answer(ctx, "s", "q", state.Answer{Result: []byte(`{}`), Token: "t"}, 1)
			if err == nil {
				w = statetest.Own(r, o.Record)
			}
			return err
		})
		measure("mark as dispatched", 1, func() error { return w.Step(ctx, &medium.Write{Next: medium.NextDispatched}) })
		measure("Claim", 1, func() (err error) { w, err = statetest.Claim(ctx, r, w.ClaimTarget()); return err })
		measure("Restore of what stands", 1, func() error { _, err := w.Restore(ctx); return err })
		measure("Finish", 1, func() error { return w.Finish(ctx, []byte(`{}`)) })
		measure("Begin another", 2, begins("st2", "c2"))
		measure("Finish behind 32 events", 1, func() error { return w.Finish(ctx, []byte(`{}`), log(32)...) })
		measure("Conclude behind 32 events", 1, func() error {
			return statetest.Conclude(ctx, r, "s", "st3", call("c3"), []byte(`{}`), log(32)...)
		})
		measure("Ring without others", 1, func() error { return r.Notify(ctx, state.SessionEvent{Kind: state.SessionChanged, Session: "alone"}) })
		measure("Beat", 1, func() error { return beat(t, r) })
		measure("Beat that looks for orphans", 4, func() error { _, err := r.Beat(ctx, 10, false); return err })
		measure("Delete", 3, func() error { return r.Delete(ctx, "s") })
	}
	// Once without a look, so that Redis knows the scripts.
	run(func(name string, _ int32, op func() error) { must(t, op()) })
	run(measure)
	must(t, out.Flush())
	t.Logf("\n%s", table.String())
}

// A subscription costs what it takes itself, whatever the session has: neither the others nor the
// record with them go over the wire, and Redis's work is of a handful of commands.
func TestInvariant7ASubscriptionCostsItself(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r, ctx := start(t, c, redis.Options{}), t.Context()
	rec := record("s")
	must(t, r.Create(ctx, rec))
	stat := func(name string) (n int) {
		for line := range strings.Lines(c.Info(ctx, "stats").Val()) {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
				var err error
				n, err = strconv.Atoi(text)
				must(t, err)
			}
		}
		return n
	}
	wire := func() int { return stat("total_net_input_bytes") + stat("total_net_output_bytes") }
	const size = 4 << 10
	update := func(p state.Patch) (bytes int) {
		before := wire()
		p.From = rec
		var err error
		rec, err = r.Update(ctx, "s", p)
		must(t, err)
		return wire() - before
	}
	uri := func(i int) string { return fmt.Sprintf("x://%0*d", size-4, i) }
	first := update(state.Patch{Subscribe: uri(0)})
	for i := range 999 {
		update(state.Patch{Subscribe: uri(i + 1)})
	}
	last, end := update(state.Patch{Subscribe: uri(1000)}), update(state.Patch{Unsubscribe: uri(500)})
	t.Logf("bytes on the wire: %d for the first subscription of %d bytes, %d for the last of 1001, %d for its end", first, size, last, end)
	for _, n := range []int{last, end} {
		if n > first+size {
			t.Errorf("a change beside 1000 subscriptions takes %d bytes on the wire, the first one took %d", n, first)
		}
	}
	if n := len(rec.Subscriptions); n != 1000 {
		t.Errorf("%d subscriptions, want 1000", n)
	}
	got, err := r.Load(ctx, "s", true)
	must(t, err)
	if !slices.Equal(got.Subscriptions, rec.Subscriptions) {
		t.Error("the subscriptions that are kept are not those that were made, in their order")
	}
}

// idleBytes bounds what an idle session takes in Redis, with its place in the indexes.
const idleBytes = 1800

func TestInvariant7BytesOfAnIdleSession(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r, ctx := start(t, c, redis.Options{}), t.Context()
	session := func(i int) *state.Session {
		return &state.Session{
			ID: fmt.Sprintf("%032d", i), Version: "2025-11-25", Initialized: true, Serial: 1,
			Principal:    mcp.Principal{Subject: "alice@example.org", Issuer: "https://issuer.example"},
			ClientInfo:   []byte(`{"name":"a client of the usual kind","version":"1.2.3"}`),
			Capabilities: []byte(`{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}`),
		}
	}
	used := func() int {
		for line := range strings.Lines(c.Info(ctx, "memory").Val()) {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
				n, err := strconv.Atoi(text)
				must(t, err)
				return n
			}
		}
		t.Fatal("Redis does not report its memory")
		return 0
	}
	must(t, r.Create(ctx, session(0)))
	const count = 4096
	before := used()
	for i := range count {
		must(t, r.Create(ctx, session(i+1)))
	}
	each := (used() - before) / count
	var own int64
	for _, key := range c.Keys(ctx, "mcpedge:{"+session(1).ID+"}*").Val() {
		n := c.MemoryUsage(ctx, key, 0).Val()
		t.Logf("%5d bytes: %s", n, key)
		own += n
	}
	t.Logf("%5d bytes in the session's keys, %d with its place in Redis's tables and the principal's index", own, each)
	if own == 0 || int(own) > each || each > idleBytes {
		t.Errorf("an idle session takes %d bytes, %d of them in its keys; at most %d were meant to do", each, own, idleBytes)
	}
}
