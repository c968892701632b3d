package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// lists returns the ids of all tasks of a caller, page by page from alternating replicas, and the
// cursors of the pages.
func lists(who string, replicas ...*replica) (ids, cursors []string) {
	params := ""
	for i := 0; ; i++ {
		page := replicas[i%len(replicas)].must(legacy, who, mcp.MethodTasksList, params)
		for _, one := range page["tasks"].([]any) {
			ids = append(ids, one.(map[string]any)["taskId"].(string))
		}
		next, ok := page["nextCursor"].(string)
		if !ok {
			return ids, cursors
		}
		cursors = append(cursors, next)
		params = `"cursor":"` + next + `"`
	}
}

// briefly is a store that fails the test on reads that lists must not make.
type briefly struct {
	medium.Store
	t *testing.T
}

func (b briefly) Read(_ context.Context, id, _ string, after medium.Position, most int) (medium.Page, error) {
	b.t.Errorf("a list reads the log of %s behind %v, %d entries", id, after, most)
	return medium.Page{}, state.ErrUnavailable
}

func (b briefly) Asking(context.Context, string, string) (*medium.Record, error) {
	b.t.Error("a list reads a record")
	return nil, state.ErrUnavailable
}

// TestListReadsNoLogs: a client's or an operator's list shows the same data of tasks as tasks/get,
// and reads no log and no record.
func TestListReadsNoLogs(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"], w.backend.tools["ask"] = w.backend.gated(atOnce, true), asking()
		r := w.replica()
		want := map[string]map[string]any{}
		for _, name := range []string{"done", "works", "cancelled"} {
			id := r.begin("gate", name)
			await.Until(t, "a message", func() bool { return r.get(id)["statusMessage"] != nil })
			switch name {
			case "done":
				close(w.backend.gate(name))
				r.awaits(id, Completed)
			case "cancelled":
				r.must(modern, "alice", mcp.MethodTasksCancel, about(id))
			}
			want[id] = r.must(legacy, "alice", mcp.MethodTasksGet, about(id))
		}
		id := r.begin("ask", "x")
		r.awaits(id, InputRequired)
		want[id] = r.must(legacy, "alice", mcp.MethodTasksGet, about(id))
		whole := r.store
		r.store = briefly{whole, t}
		defer func() { r.store = whole }()
		listed := r.must(legacy, "alice", mcp.MethodTasksList, "")["tasks"].([]any)
		if len(listed) != len(want) {
			t.Fatalf("%d tasks are listed, want %d", len(listed), len(want))
		}
		for _, one := range listed {
			got := one.(map[string]any)
			for _, member := range []string{"status", "statusMessage", "createdAt", "lastUpdatedAt"} {
				if w := want[got["taskId"].(string)]; got[member] != w[member] {
					t.Errorf("%s is listed as %v, and got as %v", member, got[member], w[member])
				}
			}
		}
		reports, _, err := r.Inspected(t.Context(), "", 10)
		if err != nil || len(reports) != len(want) {
			t.Fatalf("%d reports, %v", len(reports), err)
		}
		for _, one := range reports {
			if w := want[one.ID]; string(one.Status) != w["status"] || one.Tool == "" || (one.Status == InputRequired) != (len(one.Questions) == 1 && one.Questions[0].Method == mcp.MethodElicit) {
				t.Errorf("the report %+v of %v", one, w)
			}
		}
	})
}

// TestList: a caller gets only its own tasks, of either era, newest first, from any replica.
func TestList(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["gate"] = w.backend.gated(atOnce, true)
		paged := func(o *Options) { o.PageSize = 3 }
		a, b := w.replica(paged), w.replica(paged)
		if got := a.must(legacy, "alice", mcp.MethodTasksList, ""); len(got["tasks"].([]any)) != 0 || got["nextCursor"] != nil {
			t.Errorf("before there are tasks: %v", got)
		}
		var want []string
		for i := range 7 {
			want = append(want, []*replica{a, b}[i%2].begin("gate", fmt.Sprint(i)))
		}
		slices.Reverse(want)
		bobs := a.must(legacy, "bob", mcp.MethodToolsCall, `"name":"gate","arguments":{"name":"bob"},"task":{}`)["task"].(map[string]any)["taskId"]
		ids, cursors := lists("alice", a, b)
		if !slices.Equal(ids, want) || len(cursors) != 2 {
			t.Errorf("alice's are %v in %d pages, want %v in 3", ids, len(cursors)+1, want)
		}
		if ids, _ := lists("bob", b); len(ids) != 1 || ids[0] != bobs {
			t.Errorf("bob's are %v, want %v", ids, bobs)
		}
		for _, page := range []map[string]any{a.must(legacy, "alice", mcp.MethodTasksList, ""), b.must(legacy, "alice", mcp.MethodTasksList, `"cursor":null`)} {
			first := page["tasks"].([]any)[0].(map[string]any)
			for _, member := range []string{"status", "createdAt", "lastUpdatedAt", "ttl", "pollInterval"} {
				if first[member] == nil {
					t.Errorf("without %s: %v", member, first)
				}
			}
		}
		// A task that is created or erased between two pages does not move other tasks.
		if err := a.store.Delete(t.Context(), want[2]); err != nil {
			t.Fatal(err)
		}
		a.begin("gate", "late")
		if got := b.must(legacy, "alice", mcp.MethodTasksList, `"cursor":"`+cursors[0]+`"`); got["tasks"].([]any)[0].(map[string]any)["taskId"] != want[3] {
			t.Errorf("behind the first page comes %v, want %s", got, want[3])
		}
		for what, cursor := range map[string]string{
			"forged": "AAAA", "empty": "", "changed": "x" + cursors[0][1:], "longer": cursors[0] + "AAAA", "long": strings.Repeat("A", 10_000),
		} {
			if _, err := a.ask(legacy, "alice", mcp.MethodTasksList, `"cursor":"`+cursor+`"`); kindOf(err) != mcp.KindBadCursor {
				t.Errorf("a cursor that is %s: %v", what, err)
			}
		}
		if _, err := a.ask(legacy, "alice", mcp.MethodTasksList, `"cursor":7`); kindOf(err) != mcp.KindBadCursor {
			t.Errorf("a cursor that is no text: %v", err)
		}
		if _, err := a.ask(legacy, "bob", mcp.MethodTasksList, `"cursor":"`+cursors[0]+`"`); kindOf(err) != mcp.KindBadCursor {
			t.Errorf("a cursor that is another's: %v", err)
		}
		if _, err := a.ask(legacy, "", mcp.MethodTasksList, ""); kindOf(err) != mcp.KindMethodNotFound {
			t.Errorf("without authentication: %v", err)
		}
		if _, err := a.ask(modern, "alice", mcp.MethodTasksList, ""); kindOf(err) != mcp.KindMethodNotFound {
			t.Errorf("without sessions: %v", err)
		}
		a.cut.off.Store(true)
		if _, err := a.ask(legacy, "alice", mcp.MethodTasksList, ""); kindOf(err) != mcp.KindStateUnavailable {
			t.Errorf("without the state: %v", err)
		}
	})
}

// TestListForgetsExpired: expired tasks are not listed.
func TestListForgetsExpired(t *testing.T) {
	inTime(t, time.Second, func(t *testing.T, w *world, ttl time.Duration) bool {
		w.backend.tools["gate"] = w.backend.gated(atOnce, false)
		a := w.replica(func(o *Options) { o.TTL = ttl })
		began := time.Now()
		done, works := a.begin("gate", "done"), a.begin("gate", "works")
		close(w.backend.gate("done"))
		if !a.endsWithin(done, began, ttl) {
			return false
		}
		ids, _ := lists("alice", a)
		if time.Since(began) >= ttl {
			return false
		}
		if !slices.Equal(ids, []string{works, done}) {
			t.Errorf("%v are listed", ids)
		}
		await.Until(t, "the task that has ended to expire", func() bool {
			ids, _ := lists("alice", a)
			return slices.Equal(ids, []string{works})
		})
		return true
	})
}
