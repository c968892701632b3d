package stateful

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// The session's standalone stream tells of the tasks that were made in it (2025-11-25, Tasks, "Task Status Notifications"): their states,
// and the progress that was asked for. The record of the session has their ids, as it has the subscriptions, so that any replica tells
// that has the stream, whichever runs the task. A session that never had a stream keeps none.

// taskPause is the least time between two looks at a task: what changes meanwhile is told once.
const taskPause = 100 * time.Millisecond

// taskMade notes that a call of the session became a task. It does not block: the client hears of the task first.
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

// tasksTold tells an attached stream of tasks, each in a goroutine of its own until it has ended. A stream that has none has no more than
// the zero value, which tells nothing yet.
type tasksTold struct {
	w *standalone

	mu sync.Mutex
	// open: the stream can be written to, and was not given up.
	open bool
	// telling ends the telling of a task, by its id.
	telling map[string]context.CancelFunc
	all     sync.WaitGroup
}

// begin opens it. The client may have heard of the progress of the tasks that there are.
func (t *tasksTold) begin(w *standalone) {
	t.mu.Lock()
	t.w, t.open = w, true
	t.mu.Unlock()
	t.tell(w.s.rec.Load().Tasks, true)
}

// end waits until nothing is told any more. The stream's context has ended.
func (t *tasksTold) end() {
	t.mu.Lock()
	t.open = false
	t.mu.Unlock()
	t.all.Wait()
}

// tell tells of these tasks and no others. It does not block.
func (t *tasksTold) tell(ids []string, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, end := range t.telling {
		if !slices.Contains(ids, id) {
			end()
		}
	}
	for _, id := range ids {
		if t.telling[id] != nil || !t.open {
			continue
		}
		if t.telling == nil {
			t.telling = map[string]context.CancelFunc{}
		}
		ctx, end := context.WithCancel(t.w.ctx)
		t.telling[id] = end
		t.all.Go(func() {
			defer end()
			if t.w.follow(ctx, id, again) {
				t.w.taskOver(id)
			}
			t.mu.Lock()
			delete(t.telling, id)
			t.mu.Unlock()
		})
	}
}

// follow tells of a task until it has ended, which it returns true for, or nothing more can be told.
func (w *standalone) follow(ctx context.Context, id string, again bool) (over bool) {
	feed, err := w.e.dispatch.Changes(ctx, *w.a.principal.Load(), mcp.Filter{Tasks: []string{id}, TasksPlain: true})
	if err != nil {
		return false
	}
	defer feed.Close()
	if len(feed.Honoured().Tasks) == 0 {
		return true // It has expired.
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
		if len(changes) > 0 && !pause(ctx, taskPause) {
			return false
		}
	}
}

// pause waits, unless the context ends before; then it returns false.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// taskOver forgets a task that the client was told the end of. If that fails it is told again by the next stream.
func (w *standalone) taskOver(id string) {
	if slices.Contains(w.s.rec.Load().Tasks, id) {
		_, _ = w.e.update(w.ctx, w.s, state.Patch{TaskOver: id})
	}
}
