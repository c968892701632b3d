package redis_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
)

// commandStats are the calls of each command, those of scripts too, and the time that the top level ones
// took, since the statistics were reset.
func commandStats(t testing.TB, c *goredis.Client) (calls map[string]int, took time.Duration) {
	t.Helper()
	text, err := c.Info(t.Context(), "commandstats").Result()
	must(t, err)
	calls = map[string]int{}
	all := time.Duration(0)
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "cmdstat_"), ":calls=")
		if !ok {
			continue
		}
		count, rest, _ := strings.Cut(rest, ",usec=")
		usec, _, _ := strings.Cut(rest, ",")
		if calls[name], err = strconv.Atoi(count); err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(usec)
		must(t, err)
		switch {
		case strings.HasPrefix(name, "evalsha"):
			took += time.Duration(n) * time.Microsecond
		default:
			all += time.Duration(n) * time.Microsecond
		}
	}
	if took == 0 {
		took = all
	}
	return calls, took
}

// cpu is the processor time that a Redis took so far.
func cpu(t testing.TB, c *goredis.Client) time.Duration {
	t.Helper()
	text, err := c.Info(t.Context(), "cpu").Result()
	must(t, err)
	var sum float64
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			v, err := strconv.ParseFloat(value, 64)
			must(t, err)
			sum += v
		}
	}
	return time.Duration(sum * float64(time.Second))
}

// One revalidation of a held session, as it comes every second: what it costs Redis.
func BenchmarkTouch(b *testing.B) {
	const held = 1024
	c := connect(b, startServer(b))
	r := start(b, c, redis.Options{})
	ids := make([]string, held)
	for i := range ids {
		ids[i] = fmt.Sprintf("%032d", i)
		must(b, r.Create(b.Context(), record(ids[i])))
	}
	must(b, c.ConfigResetStat(b.Context()).Err())
	before, n := cpu(b, c), 0
	for b.Loop() {
		got, err := r.Touch(b.Context(), ids, true)
		must(b, err)
		if len(got) != held {
			b.Fatalf("%d of %d sessions", len(got), held)
		}
		n += held
	}
	after := cpu(b, c)
	_, took := commandStats(b, c)
	b.ReportMetric(float64(took.Nanoseconds())/1000/float64(n), "redis-µs/session")
	b.ReportMetric(float64((after-before).Nanoseconds())/1000/float64(n), "redis-cpu-µs/session")
	b.ReportMetric(0, "ns/op")
}

// A call with 20 events that leave with its response: what Redis needs for it.
func BenchmarkCallWithEvents(b *testing.B) {
	c := connect(b, startServer(b))
	r := start(b, c, redis.Options{})
	ctx := b.Context()
	must(b, r.Create(ctx, record("s")))
	events := make([]state.Entry, 20)
	for i := range events {
		events[i] = state.Entry{Kind: state.EntryProgress, Progress: float64(i), Data: bytes.Repeat([]byte("x"), 120)}
	}
	var began, finished time.Duration
	took := func(sum *time.Duration, op func() error) {
		before := commandStatsTook(b, c)
		must(b, op())
		*sum += commandStatsTook(b, c) - before
	}
	n := 0
	for b.Loop() {
		n++
		stream := fmt.Sprintf("st%015d", n)
		one := call(fmt.Sprintf("c%032d", n))
		var w []*statetest.Writer
		took(&began, func() (err error) {
			w, err = statetest.Begin(ctx, r, "s", stream, one)
			return err
		})
		stop := r.Follow("s", stream, func() {})
		took(&finished, func() error { return w[0].Finish(ctx, []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), events...) })
		stop()
	}
	b.ReportMetric(float64(began.Nanoseconds())/1000/float64(n), "µs/begin")
	b.ReportMetric(float64(finished.Nanoseconds())/1000/float64(n), "µs/finish")
	b.ReportMetric(0, "ns/op")
}

func commandStatsTook(b *testing.B, c *goredis.Client) time.Duration {
	_, took := commandStats(b, c)
	return took
}
