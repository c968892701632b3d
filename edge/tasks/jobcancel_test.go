package tasks

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// notified expects that the backend is notified once that a job is cancelled.
func (w *world) notified(t *testing.T, job string) {
	t.Helper()
	if got := await.Receive(t, "the backend to be notified", w.backend.cancelled); got != job || len(w.backend.cancelled) > 0 {
		t.Errorf("it was notified of %q, and of %d more, want %q", got, len(w.backend.cancelled), job)
	}
}

// TestCancelledWhileTheJobBegins: if a round returns a job after its task was cancelled, on any
// replica, the job is cancelled, also if its tool may run again.
func TestCancelledWhileTheJobBegins(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		run := func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			name, _ := jsonString(c.Params.Arguments, "name")
			<-w.backend.gate(name) // The job has begun; the round ignores its cancellation.
			return mcp.Reply{Input: &mcp.InputRequired{State: []byte("job " + name), Repeatable: true, RetryAfter: time.Hour}}, nil
		}
		w.backend.tools["job"], w.backend.tools["safe"] = tool{atOnce, false, run}, tool{atOnce, true, run}
		a, b := w.replica(), w.replica()
		for where, canceller := range map[string]*replica{"here": a, "elsewhere": b} {
			for kind := range w.backend.tools {
				name := kind + " " + where
				id := a.begin(kind, name)
				await.Until(t, "the round to run", func() bool { return w.backend.running.Load() == 1 })
				canceller.must(modern, "alice", mcp.MethodTasksCancel, about(id))
				await.Until(t, "the task to end where it runs", func() bool { return a.calls.Driver(id) == nil })
				close(w.backend.gate(name))
				w.notified(t, "job "+name)
				await.Until(t, "the round to end", func() bool { return w.backend.running.Load() == 0 })
			}
		}
	})
}

// hold holds the reply to the n-th step of a task here that says that the backend is called. stored receives a value when the step is in the
// store; release lets the reply arrive.
func (r *replica) hold(n int) (stored chan struct{}, release func()) {
	stored, gate := make(chan struct{}, 1), make(chan struct{})
	var mu sync.Mutex
	steps := map[string]int{}
	r.cut.marked.Store(ptr(func(task string) {
		mu.Lock()
		steps[task]++
		holds := steps[task] == n
		mu.Unlock()
		if holds {
			r.cut.marked.Store(nil)
			stored <- struct{}{}
			<-gate
		}
	}))
	return stored, func() { close(gate) }
}

// TestCancelledBeforeTheRoundRuns: a task is cancelled when the store says that the backend is called, and it is not called yet. Its job is
// cancelled, once: by the replica that was to call it if the job is queried in a round that is not repeatable, which another replica leaves
// to the cancellation of that round.
func TestCancelledBeforeTheRoundRuns(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		once := func(repeatable bool, questions ...mcp.InputRequest) tool {
			return tool{atOnce, false, func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
				return mcp.Reply{Input: &mcp.InputRequired{Requests: questions, State: []byte("job"), Repeatable: repeatable}}, nil
			}}
		}
		question := mcp.InputRequest{Key: "name", Method: mcp.MethodElicit, Params: []byte(`{"mode":"form","message":"Your name?"}`)}
		safe := once(false)
		safe.repeatable = true
		w.backend.tools = map[string]tool{"busy": once(false), "repeatable": once(true), "safe": safe, "asks": once(false, question)}
		a, b := w.replica(), w.replica()
		for kind := range w.backend.tools {
			for _, by := range []struct {
				r   *replica
				era *revision.Rules
			}{{a, modern}, {b, modern}, {b, legacy}} {
				stored, release := a.hold(2)
				id := a.begin(kind, "")
				if kind == "asks" {
					key := keys(a.awaits(id, InputRequired))[0]
					a.must(modern, "alice", mcp.MethodTasksUpdate, about(id)+`,"inputResponses":{"`+key+`":{"action":"accept","content":{}}}`)
				}
				await.Receive(t, "the store to have the second round", stored)
				done := make(chan struct{})
				go func() {
					defer close(done)
					by.r.must(by.era, "alice", mcp.MethodTasksCancel, about(id))
				}()
				if by.r == a {
					release()
				}
				await.Receive(t, "the cancellation", done)
				if by.r == b {
					a.calls.CancelHere(id) // what b's notification does, sooner or later
					release()
				}
				w.notified(t, "job")
				await.Until(t, "the task to be left", func() bool { return a.calls.Driver(id) == nil })
			}
		}
	})
}

// TestCancelledBeforeTheBackendIsReached: a task is cancelled while its second round waits for a decision, and the backend is not called.
// Its job is cancelled.
func TestCancelledBeforeTheBackendIsReached(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		decides := make(chan bool)
		w.backend.admit = func(ctx context.Context, c *mcp.Call) error {
			if c.State == nil {
				return nil
			}
			decides <- true
			<-ctx.Done()
			return nil // The decision comes in the same moment. The call of the backend fails at once.
		}
		w.backend.tools["job"] = tool{atOnce, false, func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			if c.State == nil {
				return mcp.Reply{Input: &mcp.InputRequired{State: []byte("job")}}, nil
			}
			return mcp.Reply{}, context.Canceled
		}}
		a, b := w.replica(), w.replica()
		for _, canceller := range []*replica{a, b} {
			id := a.begin("job", "")
			await.Receive(t, "the second round to be decided", decides)
			canceller.must(modern, "alice", mcp.MethodTasksCancel, about(id))
			w.notified(t, "job")
			await.Until(t, "the task to be left", func() bool { return a.calls.Driver(id) == nil })
		}
	})
}

// TestCancelledElsewhereInARepeatableRound: a task is cancelled by another replica while its job is queried in a round that may be
// repeated. The replica that cancels it notifies the backend.
func TestCancelledElsewhereInARepeatableRound(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		hang := make(chan struct{})
		w.backend.tools["job"] = tool{atOnce, false, func(ctx context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			if c.State == nil {
				return mcp.Reply{Input: &mcp.InputRequired{State: []byte("job"), Repeatable: true}}, nil
			}
			hang <- struct{}{}
			<-ctx.Done()
			return mcp.Reply{}, ctx.Err()
		}}
		a, b := w.replica(), w.replica()
		for _, era := range []*revision.Rules{modern, legacy} {
			id := a.begin("job", "")
			await.Receive(t, "the second round to run", hang)
			b.must(era, "alice", mcp.MethodTasksCancel, about(id))
			w.notified(t, "job")
			await.Until(t, "the run to end", func() bool { return w.backend.running.Load() == 0 })
		}
	})
}

// TestCancelledDuringTheTakeover: a task whose replica was lost in a round is cancelled at the replica that takes it over, before that
// calls the backend. The job is cancelled.
func TestCancelledDuringTheTakeover(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		hang := make(chan struct{}, 1)
		run := func(repeatable bool) func(ctx context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			return func(ctx context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
				if c.State == nil {
					return mcp.Reply{Input: &mcp.InputRequired{State: []byte("job"), Repeatable: repeatable}}, nil
				}
				hang <- struct{}{}
				<-ctx.Done()
				return mcp.Reply{}, ctx.Err()
			}
		}
		w.backend.tools["repeatable"], w.backend.tools["safe"] = tool{atOnce, false, run(true)}, tool{atOnce, true, run(false)}
		for kind := range w.backend.tools {
			a := w.replica()
			id := a.begin(kind, "")
			await.Receive(t, "the second round to run", hang)
			b := w.replica()
			stored, release := b.hold(1)
			a.cut.off.Store(true)
			await.Receive(t, "the other replica to take the task over", stored)
			b.calls.CancelHere(id)
			release()
			w.notified(t, "job")
			b.awaits(id, Cancelled)
			a.back()
			await.Until(t, "the run to end", func() bool { return w.backend.running.Load() == 0 })
			a.Close()
			b.Close() // Otherwise it could take over the next task.
		}
	})
}
