package redis_test

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// Calls that wait for their clients cost sweeps nothing, until they are overdue or one is claimed.
func TestSweepsPassOverWaitingCalls(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r := start(t, c, redis.Options{})
	const waiting = 300 // more than a page of each bucket would be among many
	for i := range waiting {
		id := fmt.Sprintf("s%d", i)
		must(t, r.Create(t.Context(), record(id)))
		must(t, begin(t, r, id, "st", id).Ask(t.Context(), nil, state.Ask{ID: "q", Key: "k", Message: []byte("{}")}))
	}
	sweep := func() (looked int) {
		t.Helper()
		must(t, c.ConfigResetStat(t.Context()).Err())
		found, err := r.Beat(t.Context(), waiting, false)
		if must(t, err); len(found) != 0 {
			t.Fatalf("%d of the waiting calls are lost", len(found))
		}
		calls, _ := commandStats(t, c)
		return calls["hmget"] // which orphans.lua asks each call with
	}
	if n := sweep(); n < waiting {
		t.Fatalf("the first sweep looked at %d calls, want all %d", n, waiting)
	}
	if n := sweep(); n != 0 {
		t.Errorf("the next sweep looked at %d calls", n)
	}
	if n := streamsIndexed(t, c); n != waiting {
		t.Errorf("%d streams are indexed, want all %d", n, waiting)
	}
	// One that is claimed is looked at again.
	if out, _, err := r.Answer(t.Context(), "s7", "q", state.Answer{Result: []byte("{}"), Token: "t"}, 1); err != nil || out != state.AnswerCompleted {
		t.Fatal(out, err)
	}
	if n := sweep(); n != 1 {
		t.Errorf("after an answer a sweep looked at %d calls, want 1", n)
	}
}

// A call that waits is found when its lifetime has passed, by the clock of Redis.
func TestOverdueWaitingCallsAreFound(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r := start(t, c, redis.Options{})
	must(t, r.Create(t.Context(), record("s")))
	late := call("late")
	late.Deadline = time.Now().Add(1500 * time.Millisecond)
	w, err := statetest.Begin(t.Context(), r, "s", "st", late)
	must(t, err)
	must(t, w[0].Ask(t.Context(), nil, state.Ask{ID: "q", Key: "k", Message: []byte("{}")}))
	await.Until(t, "the call to be found", func() bool {
		found, err := r.Beat(t.Context(), 10, false)
		must(t, err)
		return len(found) == 1 && found[0].Call == "late"
	})
}

// A call whose last answer was taken by a replica that was killed at that moment has another owner soon, also in a Cluster, where the
// index is on another server.
func TestAnsweredCallsOfKilledReplicasAreFoundOnACluster(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), startCluster(t)
	o := redis.Options{Limits: state.Limits{Lease: time.Second}}
	r := start(t, c, o)
	must(t, r.Create(ctx, record("s")))
	must(t, begin(t, r, "s", "st", "c").Ask(ctx, nil, state.Ask{ID: "q", Key: "k", Message: []byte("{}")}))
	if contains(t, r, "c") {
		t.Fatal("a call that waits for its client is lost")
	}
	other := goredis.NewClusterClient(c.Options())
	t.Cleanup(func() { _ = other.Close() })
	victim := start(t, other, o)
	var kill killedByAnswer
	other.AddHook(&kill)
	if out, _, err := victim.Answer(ctx, "s", "q", state.Answer{Result: []byte("{}"), Token: "t"}, 1); err != nil || out != state.AnswerCompleted {
		t.Fatal(out, err)
	}
	answered := time.Now()
	await.Until(t, "the call is found", func() bool { return contains(t, r, "c") })
	if took := time.Since(answered); !kill.killed.Load() || took > 20*time.Second {
		t.Errorf("it took %s to find the call, killed: %t", took, kill.killed.Load())
	}
}

// killedByAnswer is the hook of a replica that is killed when it has taken the last answer of a call: it sends nothing any more.
type killedByAnswer struct{ killed atomic.Bool }

func (k *killedByAnswer) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (k *killedByAnswer) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if k.killed.Load() {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		err := next(ctx, cmd)
		if c, ok := cmd.(*goredis.Cmd); ok && err == nil {
			if list, _ := c.Val().([]any); len(list) > 0 && list[0] == "completed" {
				k.killed.Store(true)
			}
		}
		return err
	}
}

func (k *killedByAnswer) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		if k.killed.Load() {
			return io.EOF
		}
		return next(ctx, cmds)
	}
}
