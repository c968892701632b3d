package stateful

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// The session's standalone stream reports the tasks that were made in the session (2025-11-25,
// Tasks, "Task Status Notifications"): their states, and their progress if it was requested. The
// record of the session has their ids, as it has the subscriptions. So any replica with the stream
// reports them, whichever runs the task. A session that never had a stream keeps no ids.

// taskPause is the minimum interval between two reads of a task. Changes within it are reported
// once.
const taskPause = 100 * time.Millisecond

// taskMade records that a call of the session became a task. It does not block, because the
// response with the task is sent first.
func (e *Era) taskMade(s *localSession, id string) {
	if s.rec.Load().Attachment == 0 {
		return
	}
	e.work.Spawn(func() {
		if _, err := e.update(e.life, s, state.Patch{TaskMade: id}); err == nil && s.attached() == nil {
			e.notify(e.life, state.SessionEvent{Kind: state.SessionChanged, Session: s.id})
		}
	})
}

// taskReports reports tasks on an attached stream, each in its own goroutine until the task has
// ended. The zero value is closed and reports nothing.
type taskReports struct {
	w *standalone

	mu sync.Mutex
	// open is true while the stream is attached and can be written to.
	open bool
	// reporting maps the task ids to the cancel functions of their reporting goroutines.
	reporting map[string]context.CancelFunc
	all       sync.WaitGroup
}

// begin opens it. The client may already have the progress of existing tasks.
func (t *taskReports) begin(w *standalone) {
	t.mu.Lock()
	t.w, t.open, t.reporting = w, true, map[string]context.CancelFunc{}
	t.mu.Unlock()
	t.set(w.s.rec.Load().Tasks, true)
}

// sendListChanges sends the changes of lists, in a goroutine, if the stream can be written to.
func (t *taskReports) sendListChanges() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open {
		t.all.Go(func() { _ = t.w.sendListChanges() })
	}
}

// end waits until all goroutines have ended. The stream's context is done.
func (t *taskReports) end() {
	t.mu.Lock()
	t.open = false
	t.mu.Unlock()
	t.all.Wait()
}

// set sets the ids of the tasks that are reported. It does not block.
func (t *taskReports) set(ids []string, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, end := range t.reporting {
		if !slices.Contains(ids, id) {
			end()
		}
	}
	for _, id := range ids {
		if t.reporting[id] != nil || !t.open {
			continue
		}
		ctx, end := context.WithCancel(t.w.ctx)
		t.reporting[id] = end
		t.all.Go(func() {
			defer end()
			if t.w.follow(ctx, id, again) {
				t.w.taskOver(id)
			}
			t.mu.Lock()
			delete(t.reporting, id)
			t.mu.Unlock()
		})
	}
}

// follow reports a task until nothing more can be reported. It returns true if the task has ended.
func (w *standalone) follow(ctx context.Context, id string, again bool) (over bool) {
	feed, err := w.e.dispatch.Changes(ctx, w.s.rec.Load().Set, *w.a.principal.Load(), mcp.Filter{Tasks: []string{id}, TasksPlain: true})
	if err != nil {
		return false
	}
	defer feed.Close()
	if len(feed.Honoured().Tasks) == 0 {
		return true // The task has expired.
	}
	for {
		changes, err := feed.Next(ctx, w.e.o.KeepAlive)
		if err != nil {
			return false
		}
		for _, c := range changes {
			if c.Task != "" && (!again || c.Kind != mcp.TaskProgress) {
				if err := w.write(mcp.StreamEvent{Data: notification(c.Kind.Notification(), []byte("{"+c.Task+"}"))}); err != nil {
					return false
				}
			}
			over = over || c.Over
		}
		if again = false; over {
			return true
		}
		if len(changes) > 0 && !era.Pause(ctx, taskPause) {
			return false
		}
	}
}

// taskOver removes a task after its end was sent to the client. If that fails, the next stream
// reports the end again.
func (w *standalone) taskOver(id string) {
	if slices.Contains(w.s.rec.Load().Tasks, id) {
		_, _ = w.e.update(w.ctx, w.s, state.Patch{TaskOver: id})
	}
}
