package stateful

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// TestTasksOfASession: a session with a stream keeps a bounded number of its tasks. Its current
// stream, on any replica, reports each until it has ended. A session that never had a stream keeps
// none.
func TestTasksOfASession(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		made := 0
		w.backend.tools["task"] = func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			made++
			reply := text("made")
			reply.Task = fmt.Sprint("t", made)
			return reply, nil
		}
		tasks := func(session string) []string {
			t.Helper()
			s, err := w.a.store.Load(t.Context(), session, false)
			if err != nil {
				t.Fatal(err)
			}
			return s.Tasks
		}
		status := func(id, is string, over bool) {
			w.backend.change(mcp.Change{Kind: mcp.TaskStatus, URI: id, Task: fmt.Sprintf(`"taskId":%q,"status":%q`, id, is), Over: over})
		}
		reported := func(id, is string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":%q,"status":%q}}`, id, is)
		}
		progress := mcp.Change{Kind: mcp.TaskProgress, Task: `"progressToken":1,"progress":1`}
		progressed := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`

		mute := w.initialize(v1125)
		w.post(w.a, mute, callTool(1, "task"))
		after(time.Second)
		if got := tasks(mute); len(got) > 0 || w.backend.openFeeds() != 0 {
			t.Errorf("without a stream the session keeps %v, and %d feeds are open", got, w.backend.openFeeds())
		}

		s := w.initialize(v1125)
		x := w.listen(w.a, s, "")
		w.wantMessages(x)
		w.post(w.b, s, callTool(1, "task")) // t2
		w.post(w.a, s, callTool(2, "task")) // t3
		w.post(w.a, s, callTool(3, "echo"))
		after(time.Second)
		if got := tasks(s); !slices.Equal(got, []string{"t2", "t3"}) || w.backend.openFeeds() != 3 {
			t.Errorf("the session keeps %v, and %d feeds are open", got, w.backend.openFeeds())
		}
		status("t2", "working", false)
		after(time.Second)
		progress.URI = "t3"
		w.backend.change(progress)
		after(time.Second)
		w.wantMessages(x, reported("t2", "working"), progressed)

		y := w.listen(w.b, s, "") // The client may already have the existing progress.
		progress.URI = "t2"
		w.backend.change(progress)
		after(time.Second)
		w.backend.change(progress)
		after(time.Second)
		status("t2", "completed", true)
		after(time.Second)
		w.wantMessages(y, progressed, reported("t2", "completed"))
		if got := tasks(s); !slices.Equal(got, []string{"t3"}) || w.backend.openFeeds() != 2 {
			t.Errorf("the session keeps %v, and %d feeds are open", got, w.backend.openFeeds())
		}
		for i := range state.MaxTasks + 5 {
			w.post(w.b, s, callTool(10+i, "task"))
			after(time.Second)
		}
		if got := tasks(s); len(got) != state.MaxTasks || slices.Contains(got, "t3") {
			t.Errorf("of more tasks than it may keep the session keeps %v", got)
		}
		if n := w.backend.openFeeds(); n != 1+state.MaxTasks {
			t.Errorf("%d feeds are open", n)
		}
		x.cancel()
		y.cancel()
		after(time.Second)
		if n := w.backend.openFeeds(); n != 0 || !y.ended() {
			t.Errorf("the stream ended: %t; %d feeds are open", y.ended(), n)
		}
	})
}
