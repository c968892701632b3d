package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// TestT1DurableBeforeTheReply: a task whose id was sent is found on every replica, even if its own
// replica is cut off at that moment. Without the store no task is made.
func TestT1DurableBeforeTheReply(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, true)
		w.backend.tools["later"] = w.backend.gated(later, true)
		a, b := w.replica(), w.replica()
		for _, tool := range []string{"gate", "later"} {
			id := a.begin(tool, tool)
			a.cut.off.Store(true)
			if got := b.get(id)["status"]; got != "working" {
				t.Errorf("%s: %v", tool, got)
			}
			close(w.backend.gate(tool))
			if got := text(b.awaits(id, Completed)); got != "passed "+tool {
				t.Errorf("%s gave %q elsewhere", tool, got)
			}
			a.back()
			if tool == "gate" { // Its lease was lost. A new replica begins, as after a restart.
				a = w.replica()
			}
		}
		a.cut.off.Store(true)
		before := w.backend.ran.Load()
		if _, err := a.ask(modern, "alice", mcp.MethodToolsCall, `"name":"gate","arguments":{"name":"never"}`); kindOf(err) != mcp.KindStateUnavailable {
			t.Errorf("without the state: %v", err)
		}
		if w.backend.ran.Load() != before {
			t.Error("the backend was called for a task that could not be made")
		}
	})
}

// TestT2OneTerminalState: a task that is cancelled during its end has one final state, on all
// replicas and permanently.
func TestT2OneTerminalState(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, false)
		a, b := w.replica(), w.replica()
		for i := range 20 {
			name := fmt.Sprint("race", i)
			id := a.begin("gate", name)
			var both sync.WaitGroup
			both.Go(func() { close(w.backend.gate(name)) })
			both.Go(func() {
				if i%2 == 0 {
					_, _ = b.ask(modern, "alice", mcp.MethodTasksCancel, about(id))
				} else {
					_, _ = a.ask(modern, "alice", mcp.MethodTasksCancel, about(id))
				}
			})
			both.Wait()
			first := a.get(id)["status"]
			if first != string(Completed) && first != string(Cancelled) {
				t.Fatalf("after its cancellation was acknowledged the task is %v", first)
			}
			for _, r := range []*replica{a, b} {
				_ = r.must(modern, "alice", mcp.MethodTasksCancel, about(id))
				if got := r.get(id)["status"]; got != first {
					t.Errorf("it was %v and is %v", first, got)
				}
			}
		}
	})
}

// TestT3Fenced: a replica that lost a task cannot write to it.
func TestT3Fenced(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, false)
		a, b := w.replica(), w.replica()
		id := a.begin("gate", "x")
		await.Until(t, "the backend to run", func() bool { return w.backend.running.Load() == 1 })
		await.Until(t, "the run to be in the record", func() bool { return a.get(id)["statusMessage"] == "waiting for x" })
		a.cut.off.Store(true)
		lost := b.awaits(id, Failed) // The run is not repeatable.
		if code := lost["error"].(map[string]any)["code"]; code != float64(-31520) {
			t.Errorf("the code is %v", code)
		}
		close(w.backend.gate("x"))
		await.Until(t, "the backend to end", func() bool { return w.backend.running.Load() == 0 })
		a.back()
		await.Until(t, "the loser to hear", func() bool { return a.calls.Driver(id) == nil })
		for _, r := range []*replica{a, b} {
			if got := r.get(id)["status"]; got != string(Failed) {
				t.Errorf("the task is %v", got)
			}
		}
	})
}

// TestT4NoInputKeyTwice: each question has a key that is unique in its task, even if its backend
// uses one key for all.
func TestT4NoInputKeyTwice(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["ask"] = asking()
		a, b := w.replica(), w.replica()
		id := a.begin("ask", "")
		var seen []string
		for i, r := range []*replica{a, b} {
			var now []string
			await.Until(t, "a question that was not asked before", func() bool {
				now = keys(r.get(id))
				return len(now) == 1 && !slices.Contains(seen, now[0])
			})
			seen = append(seen, now[0])
			r.must(modern, "alice", mcp.MethodTasksUpdate, about(id)+`,"inputResponses":{"`+now[0]+`":{"name":"N`+fmt.Sprint(i)+`"}}`)
			if again := keys(r.get(id)); slices.Contains(again, now[0]) {
				t.Errorf("the question %q was answered and is still asked", now[0])
			}
		}
		if got := text(a.awaits(id, Completed)); got != "Hello, N0 N1" {
			t.Errorf("got %q", got)
		}
	})
}

// TestT5NoAnswerLostOrTakenTwice: of concurrent answers to one question, on all replicas, exactly
// one is accepted.
func TestT5NoAnswerLostOrTakenTwice(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["ask"] = asking()
		a, b := w.replica(), w.replica()
		for i := range 10 {
			before := w.backend.ran.Load()
			id := a.begin("ask", "")
			for round := range 2 {
				var key string
				await.Until(t, "the question", func() bool {
					now := keys(b.get(id))
					if len(now) == 1 && strings.HasSuffix(now[0], fmt.Sprint(".", round+1)) {
						key = now[0]
					}
					return key != ""
				})
				var all sync.WaitGroup
				for n, r := range []*replica{a, b, a, b} {
					all.Go(func() {
						_, _ = r.ask(modern, "alice", mcp.MethodTasksUpdate, about(id)+`,"inputResponses":{"`+key+`":{"name":"N`+fmt.Sprint(n)+`"}}`)
					})
				}
				all.Wait()
			}
			b.awaits(id, Completed)
			if n := w.backend.ran.Load() - before; n != 3 {
				t.Fatalf("task %d: %d runs, want 3: one to begin with, and one for each answer", i, n)
			}
		}
	})
}

// TestT6OneRunAtATime: a task that is taken over runs once under each epoch. The run of the
// previous owner is cancelled once that replica knows.
func TestT6OneRunAtATime(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, true)
		a, b := w.replica(), w.replica()
		id := a.begin("gate", "x")
		await.Until(t, "the first run", func() bool { return w.backend.running.Load() == 1 })
		a.cut.off.Store(true)
		await.Until(t, "the second run", func() bool { return w.backend.ran.Load() == 2 })
		a.back()
		await.Until(t, "the first run to be cancelled", func() bool { return w.backend.running.Load() == 1 })
		close(w.backend.gate("x"))
		if got := text(b.awaits(id, Completed)); got != "passed x" || w.backend.ran.Load() != 2 {
			t.Errorf("got %q after %d runs", got, w.backend.ran.Load())
		}
		var ids []any
		w.backend.ids.Range(func(id, _ any) bool { ids = append(ids, id); return true })
		if len(ids) != 1 || ids[0] == id {
			t.Errorf("the backend saw the calls %v: want one, and not the task's id", ids)
		}
	})
}

// TestT7InvisibleToStrangers: for other principals a task does not exist, with any request, in
// either era. The response equals that for an id that never existed.
func TestT7InvisibleToStrangers(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["ask"] = asking()
		a, b := w.replica(), w.replica()
		id := a.begin("ask", "")
		a.awaits(id, InputRequired)
		const none = "NNNNNNNNNNNNNNNNNNNNNNNNNN"
		same := func(err error, of string) string { return strings.ReplaceAll(fmt.Sprint(kindOf(err), err), of, "") }
		for _, who := range []string{"mallory", ""} {
			for m, more := range map[mcp.Method]string{
				mcp.MethodTasksGet: "", mcp.MethodTasksCancel: "", mcp.MethodTasksUpdate: `,"inputResponses":{"name.1":{"name":"Mallory"}}`,
			} {
				_, foreign := b.ask(modern, who, m, about(id)+more)
				_, unknown := b.ask(modern, who, m, about(none)+more)
				if kindOf(foreign) != mcp.KindInvalidParams || same(foreign, id) != same(unknown, none) {
					t.Errorf("%q, %s: %v, of an unknown one %v", who, m, foreign, unknown)
				}
			}
			for _, m := range []mcp.Method{mcp.MethodTasksGet, mcp.MethodTasksCancel, mcp.MethodTasksResult} {
				_, foreign := b.ask(legacy, who, m, about(id))
				_, unknown := b.ask(legacy, who, m, about(none))
				if kindOf(foreign) != mcp.KindInvalidParams || same(foreign, id) != same(unknown, none) {
					t.Errorf("%q, %s with sessions: %v, of an unknown one %v", who, m, foreign, unknown)
				}
			}
			switch list, err := b.ask(legacy, who, mcp.MethodTasksList, ""); {
			case who == "" && kindOf(err) != mcp.KindMethodNotFound:
				t.Errorf("an anonymous caller lists: %v, %v", list, err)
			case who != "" && (err != nil || len(list["tasks"].([]any)) > 0):
				t.Errorf("%q lists: %v, %v", who, list, err)
			}
			feed, err := b.Changes(t.Context(), "", mcp.Principal{Subject: who, Issuer: "test"}, mcp.Filter{Tasks: []string{id, none}})
			if err != nil || len(feed.Honoured().Tasks) > 0 {
				t.Errorf("%q subscribed: %v, %v", who, err, feed.Honoured())
			}
			feed.Close()
		}
		if got := b.get(id)["status"]; got != string(InputRequired) {
			t.Errorf("the task is %v: a stranger changed it", got)
		}
	})
}

// TestT8ReachableUntilTTL: a task can be read until createdAt + ttl, as last reported, and expires
// after that.
func TestT8ReachableUntilTTL(t *testing.T) {
	inTime(t, 1500*time.Millisecond, func(t *testing.T, w *world, ttl time.Duration) bool {
		w.backend.tools["gate"] = w.backend.gated(atOnce, false)
		a := w.replica(func(o *Options) { o.TTL = ttl })
		id := a.begin("gate", "x")
		// A running task does not expire, even if it runs for longer than the TTL of an ended one.
		worked := time.Now().Add(2 * ttl)
		await.Until(t, "the task to have worked for longer than it is kept", func() bool {
			if got := a.get(id)["status"]; got != "working" {
				t.Fatalf("it is %v", got)
			}
			return time.Now().After(worked)
		})
		finished := time.Now()
		close(w.backend.gate("x"))
		if !a.endsWithin(id, finished, ttl) {
			return false
		}
		ended, err := a.ask(modern, "alice", mcp.MethodTasksGet, about(id))
		if err != nil && time.Since(finished) >= ttl {
			return false
		}
		if err != nil || ended["status"] != string(Completed) {
			t.Fatal(ended, err)
		}
		created, err := time.Parse(time.RFC3339Nano, ended["createdAt"].(string))
		if err != nil {
			t.Fatal(err)
		}
		until := created.Add(time.Duration(ended["ttlMs"].(float64)) * time.Millisecond)
		await.Until(t, "the task to expire", func() bool {
			asked := time.Now()
			_, err := a.ask(modern, "alice", mcp.MethodTasksGet, about(id))
			if err != nil && asked.Before(until) {
				t.Fatalf("%s before it was to: %v", until.Sub(asked), err)
			}
			return err != nil
		})
		return true
	})
}

// TestT8ReachableAsAsked: a client of 2025-11-25 may request a lifetime from the task's creation
// that is longer than Options.TTL, up to a week. A shorter one has no effect.
func TestT8ReachableAsAsked(t *testing.T) {
	inTime(t, 500*time.Millisecond, func(t *testing.T, w *world, ttl time.Duration) bool {
		asked := 8 * ttl
		w.backend.tools["gate"] = w.backend.gated(atOnce, false)
		close(w.backend.gate("x"))
		a, b := w.replica(func(o *Options) { o.TTL = ttl }), w.replica(func(o *Options) { o.TTL = ttl })
		begin := func(ttl string) (id string, granted time.Duration) {
			made := a.must(legacy, "alice", mcp.MethodToolsCall, `"name":"gate","arguments":{"name":"x"},"task":{"ttl":`+ttl+`}`)["task"].(map[string]any)
			return made["taskId"].(string), time.Duration(made["ttl"].(float64)) * time.Millisecond
		}
		for text, want := range map[string]time.Duration{
			"null": ttl, "1": ttl, "0": ttl, "-5": ttl, "-1e999": ttl, "1e999": maxTTL, "1e12": maxTTL, "604800000": maxTTL, "3600000": time.Hour, "90000.7": 90 * time.Second,
		} {
			if _, granted := begin(text); granted != want {
				t.Errorf("who asks for %s ms gets %s, want %s", text, granted, want)
			}
		}
		for _, text := range []string{`"1000"`, "true", "{}"} {
			_, err := a.ask(legacy, "alice", mcp.MethodToolsCall, `"name":"gate","arguments":{"name":"x"},"task":{"ttl":`+text+`}`)
			if kindOf(err) != mcp.KindInvalidParams {
				t.Errorf("who asks for %s: %v", text, err)
			}
		}
		short, _ := begin("1")
		began := time.Now()
		id, granted := begin(strconv.Itoa(int(asked.Milliseconds())))
		if granted != asked {
			t.Errorf("the task has a lifetime of %s", granted)
		}
		if !a.endsWithin(id, began, asked) {
			return false
		}
		await.Until(t, "the other task to expire", func() bool {
			_, err := b.ask(legacy, "alice", mcp.MethodTasksGet, about(short))
			return err != nil
		})
		got, err := b.ask(modern, "alice", mcp.MethodTasksGet, about(id))
		ids, _ := lists("alice", a, b)
		if time.Since(began) >= asked {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		created, err := time.Parse(time.RFC3339Nano, got["createdAt"].(string))
		if err != nil || text(got) != "passed x" || got["ttlMs"] != float64(asked.Milliseconds()) {
			t.Fatal(err, got)
		}
		if !slices.Contains(ids, id) || slices.Contains(ids, short) {
			t.Errorf("%v are listed, want %s and not %s", ids, id, short)
		}
		await.Until(t, "the task to expire", func() bool {
			_, err := b.ask(modern, "alice", mcp.MethodTasksGet, about(id))
			if now := time.Now(); err != nil && now.Before(created.Add(asked)) {
				t.Fatalf("%s before it was to: %v", created.Add(asked).Sub(now), err)
			}
			return err != nil
		})
		return true
	})
}

// TestT9PlainCallsCostNothing: a call that does not become a task reaches the backend without
// additional allocations in this stage, and without the store: it is served while the store is
// unavailable. bench measures its CPU time.
func TestT9PlainCallsCostNothing(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		reply := mcp.Reply{Result: json.RawMessage(`{"content":[]}`)}
		answers := func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) { return reply, nil }
		w.backend.tools["plain"] = tool{run: answers}
		w.backend.tools["optional"] = tool{mcp.TaskSupport{Optional: true}, false, answers}
		r := w.replica()
		r.cut.off.Store(true)
		for name, c := range map[string]struct {
			rules *revision.Rules
			tool  string
		}{
			"without sessions": {modern, "plain"},
			"with sessions":    {legacy, "plain"},
			// A client of 2025-11-25 that does not request a task gets none.
			"a tool that may have tasks": {legacy, "optional"},
		} {
			call := requestOf(t, c.rules, "alice", mcp.MethodToolsCall, `"name":"`+c.tool+`"`)
			// The minimum of several measurements counts, since they include the whole process and
			// its heartbeats.
			allocations := func(by era.Dispatcher) float64 {
				least := math.Inf(1)
				for range 20 {
					least = min(least, testing.AllocsPerRun(100, func() {
						var err error
						if call.Target, err = by.Resolve(t.Context(), c.rules, call); err != nil {
							t.Error(err)
						}
						if _, err := by.Call(t.Context(), c.rules, call, nil); err != nil {
							t.Error(err)
						}
					}))
				}
				return least
			}
			if bare, staged := allocations(w.backend), allocations(r); staged > bare {
				t.Errorf("%s: %v allocations a call, %v of them the backend's", name, staged, bare)
			}
		}
	})
}

// TestT10BoundedAndExpiring: the number of tasks of a principal is bounded, without effect on
// others. Tasks beyond the running limit wait. All stored data expires.
func TestT10BoundedAndExpiring(t *testing.T) {
	onMedia(t, func(l *state.Limits) { l.SessionsPerPrincipal = 4 }, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, false)
		a := w.replica(func(o *Options) { o.MaxRunning, o.MaxRunningPerPrincipal = 3, 2 })
		var ids []string
		for i := range 4 {
			ids = append(ids, a.begin("gate", fmt.Sprint(i)))
		}
		if _, err := a.ask(modern, "alice", mcp.MethodToolsCall, `"name":"gate","arguments":{"name":"5"}`); kindOf(err) != mcp.KindLimit {
			t.Errorf("a fifth task: %v", err)
		}
		_ = a.must(modern, "bob", mcp.MethodToolsCall, `"name":"gate","arguments":{"name":"bob"}`)
		await.Until(t, "three to run, one of them bob's", func() bool { return w.backend.running.Load() == 3 })
		if n := a.Queued(); n != 2 {
			t.Errorf("%d wait", n)
		}
		_ = a.must(modern, "alice", mcp.MethodTasksCancel, about(ids[3])) // This task waits.
		for i := range 4 {
			close(w.backend.gate(fmt.Sprint(i)))
		}
		for _, id := range ids[:3] {
			a.awaits(id, Completed)
		}
		if got := a.get(ids[3])["status"]; got != string(Cancelled) || w.backend.most.Load() > 3 {
			t.Errorf("%v, and %d ran at once", got, w.backend.most.Load())
		}
		close(w.backend.gate("bob"))
		await.Until(t, "all to have ended", func() bool { return w.backend.running.Load() == 0 && a.Queued() == 0 })
	})
	t.Run("every key expires", func(t *testing.T) {
		server := redisserver.ForTest(t)
		client := goredis.NewClient(&goredis.Options{Addr: server.Addr})
		t.Cleanup(func() { _ = client.Close() })
		w := &world{t: t, backend: &backend{tools: map[string]tool{"ask": asking()}, gates: map[string]chan struct{}{}}}
		w.open = func(h medium.Hooks) medium.Store {
			r, err := redis.New(client, redis.Options{Limits: limits(nil), Prefix: "test"})
			if err != nil {
				t.Fatal(err)
			}
			s := r.Store(h)
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = r.Close() })
			return s
		}
		w.backend.tools["gate"] = w.backend.gated(atOnce, true)
		a := w.replica()
		a.awaits(a.begin("ask", ""), InputRequired)
		done := a.begin("gate", "x")
		close(w.backend.gate("x"))
		a.awaits(done, Completed)
		a.must(modern, "alice", mcp.MethodTasksCancel, about(a.begin("gate", "y")))
		all, err := client.Keys(context.Background(), "*").Result()
		if err != nil || len(all) == 0 {
			t.Fatal(all, err)
		}
		for _, key := range all {
			if left := client.PTTL(context.Background(), key).Val(); left < 0 {
				t.Errorf("%s does not expire", key)
			}
		}
	})
}

// TestT10PollsAreBounded: a caller that polls a task, or opens its result, too often is refused
// with a retry delay. Other callers, other tasks, and requests that are not polls are unaffected,
// and a stranger's polls do not count against the owner.
func TestT10PollsAreBounded(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, false)
		a := w.replica(func(o *Options) { o.Polls = 1 })
		id, other := a.begin("gate", "x"), a.begin("gate", "y")
		refused := func(who string, m mcp.Method, params string) {
			t.Helper()
			began, n := time.Now(), 0
			_, err := a.ask(legacy, who, m, params)
			for ; kindOf(err) != mcp.KindLimit; _, err = a.ask(legacy, who, m, params) {
				if n++; float64(n) > 2+time.Since(began).Seconds() { // The burst is the refill of two seconds.
					t.Fatalf("%s %d times: %v", m, n, err)
				}
			}
			if after := mcp.AsError(err).RetryAfter; n < 2 || after <= 0 || after > time.Second {
				t.Errorf("%s after %d times: %v, to be sent again in %s", m, n, err, after)
			}
		}
		refused("mallory", mcp.MethodTasksGet, about(id))
		refused("alice", mcp.MethodTasksGet, about(id))
		refused("alice", mcp.MethodTasksList, "")
		a.get(other)
		if _, err := a.ask(legacy, "alice", mcp.MethodTasksResult, about(id)); kindOf(err) != mcp.KindLimit {
			t.Errorf("to open the result is no poll: %v", err)
		}
		a.must(modern, "alice", mcp.MethodTasksUpdate, about(id)+`,"inputResponses":{}`)
		a.must(modern, "alice", mcp.MethodTasksCancel, about(id))
		close(w.backend.gate("y"))
		await.Until(t, "polls to be regained", func() bool {
			_, err := a.ask(legacy, "alice", mcp.MethodTasksGet, about(id))
			return err == nil
		})
	})
}
