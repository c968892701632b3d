package tasks

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// pages lists all tasks of alice, and calls after with each page's number of tasks.
func (r *replica) pages(t *testing.T, after func(tasks int)) (ids []string) {
	t.Helper()
	for params, i := "", 0; i < 1000; i++ {
		page := r.must(legacy, "alice", mcp.MethodTasksList, params)
		for _, one := range page["tasks"].([]any) {
			ids = append(ids, one.(map[string]any)["taskId"].(string))
		}
		after(len(page["tasks"].([]any)))
		next, ok := page["nextCursor"].(string)
		if !ok {
			return ids
		}
		params = `"cursor":"` + next + `"`
	}
	t.Fatal("the list does not end")
	return nil
}

// TestListAsksAFewAtATime: the requests of one list to the policy server are bounded. The next page
// continues with the next tasks, and no task is asked about twice. A list makes progress even if
// all tasks are denied.
func TestListAsksAFewAtATime(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, true)
		r := w.replica()
		var want []string
		for i := range 2*listQuestions + 7 {
			want = append(want, r.begin("gate", fmt.Sprint(i)))
		}
		slices.Reverse(want)
		for _, denied := range []bool{false, true} {
			var mu sync.Mutex
			answered, questions, before := map[string]bool{}, 0, 0
			w.backend.decide = func(c *mcp.Call, task *mcp.TaskCall) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				if !answered[task.ID] {
					if err := task.Ask(); err != nil {
						return false, err
					}
					questions++
					answered[task.ID] = true
				}
				if denied {
					return true, mcp.Errorf(mcp.KindForbidden, "denied")
				}
				return false, nil
			}
			ids := r.pages(t, func(int) {
				mu.Lock()
				defer mu.Unlock()
				if n := questions - before; n > listQuestions+1 {
					t.Errorf("a list asks %d questions, at most %d", n, listQuestions)
				}
				before = questions
			})
			// The creator sees all its tasks, whatever its rights.
			if !slices.Equal(ids, want) || questions != len(want) {
				t.Errorf("denied %t: %d questions, %d tasks are listed: %v; want %v", denied, questions, len(ids), ids, want)
			}
		}
	})
}

// TestListReadsArgumentsWithinTheBudget: the bytes of arguments that one list reads for decisions
// are bounded, and charged to its caller while they are in memory. The next page continues with the
// next tasks. If the budget has no room for the first task, the list is refused.
func TestListReadsArgumentsWithinTheBudget(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, true)
		r := w.replica()
		const size, count = 512 << 10, 12
		var want []string
		for i := range count {
			want = append(want, r.begin("gate", fmt.Sprint(i)+strings.Repeat("x", size)))
		}
		slices.Reverse(want)
		memory := budget.New(64 << 20)
		var mu sync.Mutex
		read, uncharged := 0, 0
		w.backend.decide = func(c *mcp.Call, task *mcp.TaskCall) (bool, error) {
			args, err := task.Arguments()
			mu.Lock()
			defer mu.Unlock()
			if read += len(args); err == nil && c.Memory != nil && memory.UsedFor(budget.Checks) < int64(len(args)) {
				uncharged++
			}
			return false, err
		}
		ids := r.pages(t, func(int) {
			mu.Lock()
			defer mu.Unlock()
			if read > listArguments+size {
				t.Errorf("a list reads %d bytes of arguments, at most %d", read, listArguments)
			}
			read = 0
		})
		if !slices.Equal(ids, want) {
			t.Errorf("%d tasks are listed: %v, want %v", len(ids), ids, want)
		}
		list := func() error {
			c := requestOf(t, legacy, "alice", mcp.MethodTasksList, "")
			held := memory.Named("alice").Begin()
			c.Memory = &held
			_, err := r.Call(t.Context(), legacy, c, nil)
			return err
		}
		if err := list(); err != nil || uncharged > 0 {
			t.Errorf("%v, and arguments of %d tasks that are not charged", err, uncharged)
		}
		if n := memory.UsedFor(budget.Checks); n != 0 {
			t.Errorf("%d bytes are charged when the list has ended", n)
		}
		full := memory.Named("alice").Begin()
		for full.Grow(budget.Logs, 64<<10) == nil {
		}
		defer full.Release()
		if err := list(); kindOf(err) != mcp.KindOverloaded {
			t.Errorf("without room: %v", err)
		}
	})
}

// TestBriefOfManyQuestions: a task with more questions than its brief can hold is listed without
// its log.
func TestBriefOfManyQuestions(t *testing.T) {
	w := &medium.Write{Entries: []state.Entry{{Kind: state.EntryNotice, Data: entry{Tool: "t", Backend: "b"}.encode()}}}
	first := briefOf(&medium.Record{}, w)
	w = &medium.Write{}
	for i := range 500 {
		w.Entries = append(w.Entries, state.Entry{Kind: state.EntryRequest, Data: entry{Key: fmt.Sprintf("key-%020d", i), Method: mcp.MethodElicit}.encode()})
	}
	if raw := briefOf(&medium.Record{Brief: first}, w); len(raw) > medium.MaxBrief || !strings.Contains(string(raw), `"tool":"t"`) {
		t.Errorf("the summary is %.200s", raw)
	}
}
