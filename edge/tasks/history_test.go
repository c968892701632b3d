package tasks

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// remembering sets the name of a replica and the number of tasks that it remembers.
func remembering(name string, most int) func(*Options) {
	return func(o *Options) { o.Replica, o.Recent = name, most }
}

// ran returns the runs of a task as texts.
func ran(h *History) (out []string) {
	for _, r := range h.Runs {
		out = append(out, r.Replica+" "+string(r.End))
	}
	return out
}

// recently returns the history of a task that a replica remembers.
func (r *replica) recently(id string) *History {
	r.w.t.Helper()
	all := r.Recent(r.w.t.Context())
	i := slices.IndexFunc(all, func(h *History) bool { return h.ID == id })
	if i < 0 {
		r.w.t.Fatalf("the task is not among the %d that are remembered", len(all))
	}
	return all[i]
}

// TestHistoryOfAsking: a task that asks has its questions, and a run before each answer.
func TestHistoryOfAsking(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["asking"] = asking()
		a, b := w.replica(remembering("a", 10)), w.replica(remembering("b", 10))
		id := a.begin("asking", "")
		for i, from := range []*replica{a, b} {
			key := keys(from.awaits(id, InputRequired))[0]
			h := from.recently(id)
			if n := len(h.Runs); n != i+1 || h.Runs[i].End != RunAsked || !h.Steps[i].Waits || h.Steps[i].Text != "Your name?" || h.Steps[i].Method != mcp.MethodElicit {
				t.Fatalf("%d asked: %+v", i+1, h)
			}
			from.must(modern, "alice", mcp.MethodTasksUpdate, about(id)+`,"inputResponses":{"`+key+`":{"name":"Ada"}}`)
		}
		a.awaits(id, Completed)
		h := a.recently(id)
		if want := []string{"a asked", "a asked", "b completed"}; !slices.Equal(ran(h), want) || !h.Over() {
			t.Errorf("the runs are %q, want %q", ran(h), want)
		}
		for i, r := range h.Runs {
			if r.Round != i+1 || r.Attempt != 1 || r.Epoch.Counter() != uint64(i+1) || r.Began.Before(h.Created) || r.Ended.Before(r.Began) {
				t.Errorf("run %d is %+v", i+1, r)
			}
		}
		if len(h.Steps) != 2 || h.Steps[0].Waits || h.Steps[1].Waits {
			t.Errorf("its steps are %+v", h.Steps)
		}
	})
}

// TestHistoryOfLoss: another replica reports both the run that was lost with its replica and the
// one that was handed over.
func TestHistoryOfLoss(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, true)
		a, b := w.replica(remembering("a", 10)), w.replica(remembering("b", 10))
		id := a.begin("gate", "lost")
		await.Until(t, "the task to run", func() bool { return a.recently(id).Message != "" })
		a.cut.off.Store(true)
		await.Until(t, "the takeover", func() bool {
			return slices.ContainsFunc(b.Recent(t.Context()), func(h *History) bool { return h.ID == id && len(h.Runs) == 2 })
		})
		h := b.recently(id)
		if want := []string{"a lost", "b "}; !slices.Equal(ran(h), want) || h.Attempt() != 2 {
			t.Fatalf("the runs are %q, attempt %d, want %q, attempt 2", ran(h), h.Attempt(), want)
		}
		c := w.replica(remembering("c", 10))
		b.Close()
		await.Until(t, "the handover", func() bool {
			return slices.ContainsFunc(c.Recent(t.Context()), func(h *History) bool { return h.ID == id && len(h.Runs) == 3 })
		})
		close(w.backend.gate("lost"))
		c.awaits(id, Completed)
		h = c.recently(id)
		if want := []string{"a lost", "b handed_over", "c completed"}; !slices.Equal(ran(h), want) {
			t.Errorf("the runs are %q, want %q", ran(h), want)
		}
	})
}

// TestHistoryOfTheQueue: a task that waits for its turn is shown as queued, and a cancelled one has
// the end of its run.
func TestHistoryOfTheQueue(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, true)
		a, b := w.replica(remembering("a", 2), func(o *Options) { o.MaxRunning = 1 }), w.replica(remembering("b", 1))
		first, second := a.begin("gate", "x"), a.begin("gate", "y")
		if got := ran(a.recently(second)); !slices.Equal(got, []string{"a queued"}) {
			t.Errorf("the runs of a task that waits are %q", got)
		}
		await.Until(t, "the first one to run", func() bool { return slices.Equal(ran(a.recently(first)), []string{"a "}) })
		created := a.recently(first).Created
		if age, waits := a.Age(), a.QueueAge(); age <= 0 || age > time.Since(created) || waits <= 0 || waits > age || b.Age() != 0 || b.QueueAge() != 0 {
			t.Errorf("the oldest task is %s old, one has waited for %s; elsewhere %s and %s", age, waits, b.Age(), b.QueueAge())
		}
		b.must(modern, "alice", mcp.MethodTasksCancel, about(first))
		if got := ran(b.recently(first)); !slices.Equal(got, []string{"a cancelled"}) {
			t.Errorf("the runs of a task that was cancelled are %q", got)
		}
		if _, err := b.ask(modern, "bob", mcp.MethodTasksGet, about(second)); err == nil {
			t.Error("bob got alice's task")
		}
		b.recently(first) // A request without a right to a task does not make the task recent.
		b.get(second)
		if all := b.Recent(t.Context()); len(all) != 1 || all[0].ID != second {
			t.Errorf("remembered are %d, want the last one alone", len(all))
		}
		if err := a.store.Delete(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		if all := b.Recent(t.Context()); len(all) != 0 {
			t.Errorf("remembered are %+v, of a task that is erased", all[0])
		}
		close(w.backend.gate("y"))
	})
}

// TestHistoryIsKept: many messages of a backend evict its own older messages, and no run.
func TestHistoryIsKept(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["chatty"] = tool{atOnce, true, func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			for range 50 {
				if err := sink.Emit(ctx, mcp.Event{Method: mcp.NotifyProgress, Params: json.RawMessage(`{"progress":1,"message":"on it"}`)}); err != nil {
					return mcp.Reply{}, err
				}
			}
			select {
			case <-w.backend.gate("chatty"):
				return result("done"), nil
			case <-ctx.Done():
				return mcp.Reply{}, context.Cause(ctx)
			}
		}}
		a, b := w.replica(remembering("a", 10)), w.replica(remembering("b", 10))
		id := a.begin("chatty", "")
		await.Until(t, "the task to run", func() bool { return a.recently(id).Message != "" })
		a.cut.off.Store(true)
		await.Until(t, "the takeover", func() bool {
			return slices.ContainsFunc(b.Recent(t.Context()), func(h *History) bool { return h.ID == id && len(h.Runs) == 2 && h.Message != "" })
		})
		close(w.backend.gate("chatty"))
		b.awaits(id, Completed)
		h := b.recently(id)
		if want := []string{"a lost", "b completed"}; !slices.Equal(ran(h), want) || h.Tool != "chatty" || len(h.Steps) > 8 {
			t.Errorf("of %q are kept the runs %q and %d messages, want %q and 8 at most", h.Tool, ran(h), len(h.Steps), want)
		}
	})
}

// TestRunsOfBothReleases: a release without runs ignores them, and its own runs are shown as far as
// its entries permit.
func TestRunsOfBothReleases(t *testing.T) {
	old := struct {
		At      time.Time
		Tool    string
		Message string
	}{}
	t0 := medium.Epoch(0).Next(7)
	tasks := &Tasks{o: Options{Replica: "a"}}
	r := &medium.Record{Request: state.Request{Round: 1, Attempt: 2, Lapses: 1}}
	if err := json.Unmarshal(tasks.claimed(r)[0].Data, &old); err != nil || old.Message != "" || old.At.IsZero() {
		t.Errorf("an older release reads %+v: %v", old, err)
	}
	var h History
	at := func(epoch medium.Epoch, kind state.EntryKind, e entry) {
		e.At = time.Now()
		h.take(&medium.Entry{Epoch: epoch, Entry: state.Entry{Kind: kind}}, &e)
	}
	at(t0, state.EntryNotice, entry{Tool: "x"})
	at(t0, state.EntryLog, entry{Message: "half"})
	at(t0.Next(1), state.EntryNotice, entry{Run: &claim{Replica: "new", Round: 1, Attempt: 2, Lapses: 1}})
	at(t0.Next(1).Next(1), state.EntryLog, entry{Message: "again"})
	at(t0.Next(1).Next(1).Next(1), state.EntryResponse, entry{Failure: &failure{Message: "lost"}})
	if want := []string{" taken_over", "new taken_over", " lost"}; !slices.Equal(ran(&h), want) {
		t.Errorf("the runs are %q, want %q", ran(&h), want)
	}
}

// TestRecentWhileTheStoreIsAway: the last read history is shown.
func TestRecentWhileTheStoreIsAway(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, true)
		a := w.replica(remembering("a", 10))
		id := a.begin("gate", "x")
		a.recently(id)
		a.cut.off.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
		defer cancel()
		if all := a.Recent(ctx); len(all) != 1 || all[0].ID != id {
			t.Errorf("%d are returned while the store is away", len(all))
		}
		a.back()
		close(w.backend.gate("x"))
		a.awaits(id, Completed)
	})
}
