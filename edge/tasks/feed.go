package tasks

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// feed sends one subscriber the state of tasks, beside its other subscriptions: first the state of
// each task, and then each change. Several changes between two reads are sent as one.
type feed struct {
	mcp.Feed
	t       *Tasks
	watched []*watched
	// set is the set of the subscriber; empty means the root.
	set string
	// plain: see mcp.Filter.TasksPlain.
	plain bool
	// memory is charged with the task that is read, and with the changes returned by Next until the
	// next read. Only Next uses it.
	memory budget.Reservation

	mu sync.Mutex
	// who is the subscriber with its current rights.
	who mcp.Principal
	// wake ends the current wait. nil means that there is none.
	wake context.CancelFunc
}

// watched is one task of a feed.
type watched struct {
	id      string
	changed atomic.Bool
	stop    func()
	// sent is the last sent state (stateOf); empty if none was sent. Only Next uses it.
	sent string
	over bool
	// progress is the progress that was sent; it only increases.
	progress mcp.ProgressTracker
}

// Changes implements era.Dispatcher. It does not honour tasks of other principals, or those whose
// tool the caller may not use.
func (t *Tasks) Changes(ctx context.Context, set string, p mcp.Principal, f mcp.Filter) (mcp.Feed, error) {
	ids, plain := f.Tasks, f.TasksPlain
	f.Tasks, f.TasksPlain = nil, false
	inner, err := t.next.Changes(ctx, set, p, f)
	if err != nil || len(ids) == 0 {
		return inner, err
	}
	w := &feed{Feed: inner, t: t, set: set, who: p, plain: plain, memory: mcp.HolderOf(t.o.Memory, p, netip.Addr{}).Begin()}
	defer w.memory.Settle(budget.Results, 0)
	what := useRequest
	if plain { // The feed is part of a session, whose requests name no task.
		what = useQuiet
	}
	for _, id := range ids {
		v, err := t.load(ctx, &w.memory, id, &p)
		if err != nil && mcp.AsError(err).Kind == mcp.KindStateUnavailable {
			w.Close()
			return nil, err
		}
		if err != nil || t.permit(ctx, revision.Stateless(), w.request(&p, id), v, what) != nil {
			continue
		}
		one := &watched{id: id}
		one.changed.Store(true)
		one.stop = t.store.Follow(id, stream, func() { w.changed(one) })
		w.watched = append(w.watched, one)
	}
	return w, nil
}

// request returns the call that represents a subscription in decisions on a task.
func (w *feed) request(who *mcp.Principal, id string) *mcp.Call {
	c := &mcp.Call{Attempt: 1, Round: 1, Method: mcp.MethodListen, Set: w.set, Principal: *who}
	c.Params.Target, c.Params.HasTarget = id, true
	return c
}

// SetPrincipal implements mcp.Feed. The next read decides again which data the subscriber may see.
func (w *feed) SetPrincipal(ctx context.Context, p mcp.Principal) error {
	w.mu.Lock()
	w.who = p
	w.mu.Unlock()
	return w.Feed.SetPrincipal(ctx, p)
}

// changed records that a task may have changed. It does not block.
func (w *feed) changed(one *watched) {
	one.changed.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wake != nil {
		w.wake()
	}
}

// Honoured implements mcp.Feed.
func (w *feed) Honoured() mcp.Filter {
	f := w.Feed.Honoured()
	for _, one := range w.watched {
		f.Tasks = append(f.Tasks, one.id)
	}
	return f
}

// Next implements mcp.Feed. It also reads tasks periodically, since a notification may be lost.
func (w *feed) Next(ctx context.Context, idle time.Duration) ([]mcp.Change, error) {
	for left := idle; ; {
		if changes := w.take(ctx); len(changes) > 0 {
			return changes, nil
		}
		began, pause := time.Now(), min(left, lookAtWatched)
		changes, woken, err := w.wait(ctx, pause)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !woken:
			return nil, err
		case err == nil && len(changes) > 0:
			return changes, nil
		}
		if !woken {
			for _, one := range w.watched {
				one.changed.Store(true)
			}
		}
		if left -= time.Since(began); left <= 0 {
			return w.take(ctx), nil
		}
	}
}

// lookAtWatched is the interval at which watched tasks are read without a notification.
const lookAtWatched = 5 * time.Second

// wait waits for other changes until a task has changed. woken reports that one has.
func (w *feed) wait(ctx context.Context, idle time.Duration) (changes []mcp.Change, woken bool, err error) {
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	w.wake = cancel
	w.mu.Unlock()
	if slices.ContainsFunc(w.watched, func(one *watched) bool { return one.changed.Load() && !one.over }) {
		cancel()
	}
	changes, err = w.Feed.Next(wait, idle)
	w.mu.Lock()
	w.wake = nil
	w.mu.Unlock()
	return changes, wait.Err() != nil && ctx.Err() == nil, err
}

// largeTake bounds the bytes of the tasks that one take reads before its last task. The next take
// reads the rest.
const largeTake = 256 << 10

// take returns the tasks that have changed since they were last sent.
func (w *feed) take(ctx context.Context) (out []mcp.Change) {
	taken := 0
	w.mu.Lock()
	who := w.who
	w.mu.Unlock()
	for _, one := range w.watched {
		if taken > largeTake {
			return out
		}
		if one.over || !one.changed.Swap(false) {
			continue
		}
		v, err := w.t.load(ctx, &w.memory, one.id, &who)
		if err == nil && w.t.permit(ctx, revision.Stateless(), w.request(&who, one.id), v, useQuiet) != nil {
			continue // The task is read again later, since the decision may change.
		}
		if err != nil {
			if one.over = mcp.AsError(err).Kind == mcp.KindInvalidParams; one.over && w.plain { // The task has expired.
				out = append(out, mcp.Change{Kind: mcp.TaskStatus, Over: true})
			}
			continue
		}
		state := stateOf(v)
		one.over = v.over()
		if state == one.sent {
			continue
		}
		first := one.sent == ""
		one.sent = state
		if w.plain {
			out = w.takePlain(out, one, v, first)
			continue
		}
		text := string(w.t.appendDetailed(nil, revision.Stateless(), v))
		taken += len(text)
		out = append(out, mcp.Change{Kind: mcp.TaskChanged, Task: text})
	}
	return out
}

// takePlain appends the changes of a task in the form of the revisions with sessions.
func (w *feed) takePlain(out []mcp.Change, one *watched, v *view, first bool) []mcp.Change {
	if first && v.status == Working && v.Message == "" {
		return out
	}
	if progress, err := strconv.ParseFloat(string(v.progress), 64); v.token != nil && err == nil && !v.over() && one.progress.Advance(progress) {
		out = append(out, mcp.Change{Kind: mcp.TaskProgress, Task: string(appendProgress(nil, v))})
	}
	return append(out, mcp.Change{Kind: mcp.TaskStatus, Task: string(w.t.appendTask(nil, revision.Negotiate(v.Version), v)), Over: v.over()})
}

// stateOf returns the values that distinguish two states of a task.
func stateOf(v *view) string {
	out := string(v.status) + v.Updated.Format(time.RFC3339Nano)
	for _, e := range v.asks {
		out += " " + e.Key
	}
	return out
}

// Update implements mcp.Feed. It does not change the watched tasks: no era updates a feed with
// tasks.
func (w *feed) Update(ctx context.Context, f mcp.Filter, report bool) (mcp.Filter, error) {
	f.Tasks = nil
	return w.Feed.Update(ctx, f, report)
}

// Close implements mcp.Feed.
func (w *feed) Close() {
	for _, one := range w.watched {
		one.stop()
	}
	w.memory.Release()
	w.Feed.Close()
}
