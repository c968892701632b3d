package stateful

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// run is one call while this replica runs it: from its request, from the answer that completed its
// last asking, or from a takeover, to its outcome or its next asking. It is dispatch's sink.
type run struct {
	e     *Era
	s     *held
	rules *revision.Rules
	id    jsonrpc.ID
	// group is the exchange the call came in; nil for a call that was claimed.
	group *group
	// call is the first round that runs here; not changed once it runs.
	call mcp.Call
	// asked counts the rounds that asked the client.
	asked    int
	deadline time.Time
	// parked: the client was asked, and the call is nobody's. Guarded by s.mu.
	parked bool
	// fenced: the response was refused, since the call is another replica's. It belongs to the run's goroutine.
	fenced bool

	ctx    context.Context
	cancel context.CancelCauseFunc

	// decided and outcome are guarded by group.mu, and so is kept: the exchange writes the outcome.
	decided, kept bool
	outcome       outcome
	// memory is what the call and its outcome hold.
	memory budget.Reservation

	// openElicitations are the ids, by key, of what the client was sent to a URL for.
	openElicitations map[string]string

	// op is what telemetry sees of the run; origin the span that the call began with, before that of the
	// round whose end this one follows.
	op             telemetry.Operation
	origin, before trace.SpanContext

	// told is the progress that the client was told, in the rounds and attempts before too; muted holds back
	// everything until that is exceeded, for a round that is run again.
	told  mcp.Rising
	muted bool

	writer
}

func (r *run) init(e *Era, s *held, rec *record, id jsonrpc.ID) {
	r.e, r.s, r.rules, r.id = e, s, rec.rules, id
}

// stateCall is the record's view of the call.
func (r *run) stateCall(repeatable bool) state.Call {
	return state.Call{
		ID: r.call.ID, RequestID: r.id.Raw(), Method: r.call.Method, Params: r.call.Params.Raw,
		LogLevel: r.call.LogLevel, Deadline: r.deadline, Repeatable: repeatable,
		Round: r.call.Round, Attempt: r.call.Attempt,
		Trace: telemetry.FormatParent(r.origin), Began: r.op.Began(),
	}
}

// main runs rounds until there is an outcome or the client is asked.
func (r *run) main() {
	defer r.e.work.leave()
	defer r.done()
	r.call.Envelope = mcp.Envelope{ID: r.id}
	for call := &r.call; call != nil; {
		reply, err := r.round(call)
		switch {
		case r.ctx.Err() != nil:
			r.interrupted()
			return
		case err != nil:
			r.finish(failure(r.rules, r.id, err))
			return
		case reply.Input == nil:
			o := outcome{body: reply.Message(r.id)}
			o.seen.ToolError, o.seen.Result = reply.ToolError, reply.Result
			r.finish(o)
			return
		case len(reply.Input.Requests) > 0:
			r.ask(reply.Input)
			return
		}
		call = r.pause(call, reply.Input)
	}
}

// round calls the backend. A panic there ends this call alone.
func (r *run) round(call *mcp.Call) (reply mcp.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.e.log.ErrorContext(r.ctx, "a call panicked", "panic", p, "method", call.Method, "stack", string(debug.Stack()))
			err = mcp.Errorf(mcp.KindInternal, "internal error")
		}
	}()
	return r.e.dispatch.Call(r.ctx, r.rules, call, r)
}

// done releases what the run held.
func (r *run) done() {
	r.op.Pause(&lost) // unless it has an outcome
	r.s.finished(r)
	if r.release() {
		r.s.wrote(r)
	}
	if (r.parked || r.fenced) && errors.Is(context.Cause(r.ctx), errCancelled) {
		// The cancellation found the run while it was parking the call, or after another replica had taken it over.
		r.e.cancelWaiting(r.ctx, r.s, r.id.Raw())
	}
	r.releaseMemory()
	r.cancel(nil)
}

// interrupted ends a run whose context has ended.
func (r *run) interrupted() {
	switch cause := context.Cause(r.ctx); {
	case errors.Is(cause, errCancelled):
		r.e.counters.CallsCancelled.Add(1)
		r.finish(outcome{seen: telemetry.Outcome{Kind: mcp.KindCancelled, Message: errCancelled.Error()}})
	case errors.Is(cause, errDeadline):
		r.finish(failure(r.rules, r.id, r.tooLate()))
	case errors.Is(cause, errGone):
		r.leave(failure(r.rules, r.id, sessionNotFound()))
	case errors.Is(cause, errClosed):
		// With a record the call is another replica's to finish.
		r.leave(failure(r.rules, r.id, shuttingDown()))
	default:
		r.leave(outcome{})
	}
}

func (r *run) tooLate() *mcp.Error {
	r.e.o.Telemetry.Hit(telemetry.BoundLifetime)
	return mcp.Errorf(mcp.KindTimeout, "the call did not end within %s, answers of the client included", r.e.o.CallLifetime)
}

// leave gives the exchange an outcome if it still waits for one, and writes nothing.
func (r *run) leave(o outcome) {
	if r.attached() {
		r.op.Pause(&lost)
	}
	r.s.finished(r)
	if r.group != nil && r.group.keep(r, o) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unwritten()
	}
}

// finish ends the call with its one response, or silently.
func (r *run) finish(o outcome) {
	// The client may use the id again as soon as it has the response.
	r.s.finished(r)
	// What waits comes before the response.
	if r.end() && o.body != nil {
		if r.group != nil && r.group.conclude(r, o) {
			return
		}
		if r.opened() != nil && r.s.gone() {
			o = failure(r.rules, r.id, sessionNotFound())
		}
	}
	if r.group != nil && r.group.keep(r, o) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.e.counters.DroppedUnread.Add(int64(len(r.take())))
		return
	}
	if o.body != nil {
		r.complete(nil)
	}
	r.fenced = r.deliver(o)
}

// deliver writes the response to the log, behind what waits. It returns whether the call is another replica's.
func (r *run) deliver(o outcome) (fenced bool) {
	r.end()
	o.body = mcp.Keep(o.body)
	before := r.rest()
	began := time.Now()
	store := r.e.store
	finish := func(ctx context.Context, w state.Write) error { return store.Finish(ctx, w, o.body, before...) }
	err := r.write(finish)
	if len(before) > 0 && errors.Is(err, state.ErrTooLarge) {
		batch := before
		before = nil
		r.append(batch)
		err = r.write(finish)
	} else if err != nil {
		r.written(before, err)
	}
	if errors.Is(err, state.ErrTooLarge) {
		o = failure(r.rules, r.id, mcp.Errorf(mcp.KindTooLarge,
			"the response of %d bytes is larger than what a stream may keep; ask for less", len(o.body)))
		r.e.o.Telemetry.Hit(telemetry.BoundResult)
		err = r.write(finish)
	}
	r.stored("finish", began, err)
	if err == nil {
		r.noteEnd(before, o, finish)
	}
	if err != nil && !lostCall(err) {
		r.e.log.WarnContext(r.ctx, "a response could not be written; another replica finishes the call", "error", err, "call", r.call.ID)
	}
	return errors.Is(err, state.ErrFenced)
}

// noteEnd notes that the call's last write was made, of entries and the outcome.
func (r *run) noteEnd(before []state.Entry, o outcome, write func(context.Context, state.Write) error) {
	size := len(o.body)
	for _, en := range before {
		size += len(en.Data)
	}
	r.ended(size, write)
	r.op.End(&o.seen)
	r.e.counters.Appended.Add(int64(len(before)) + 1)
}

// opened makes sure that the call has a record.
func (r *run) opened() error {
	if r.group == nil {
		return nil
	}
	return r.group.open()
}

// Emit takes an event of the running call (mcp.Sink). An event that nobody can read is dropped and
// counted; an error means that the call is not this replica's any more.
func (r *run) Emit(_ context.Context, ev mcp.Event) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	kind := state.EntryLog
	if ev.Method == mcp.NotifyProgress {
		if !r.told.Rises(ev.Progress) {
			return nil
		}
		kind, r.muted = state.EntryProgress, false
	}
	if r.muted {
		return nil
	}
	r.e.o.Telemetry.Event(r.ctx, &ev)
	r.push(state.Entry{Kind: kind, Data: notification(ev.Method, ev.Params), Progress: ev.Progress})
	return nil
}

func notification(m mcp.Method, params json.RawMessage) []byte {
	return jsonrpc.AppendNotification(make([]byte, 0, len(params)+len(m)+48), string(m), params)
}

// pause waits before a round that needs nothing of the client: the backend is busy. It returns that
// round, or nil when the call has ended. Such rounds count against the call's lifetime alone, and the next one has
// no answers: what it needs of them is in the backend's state.
func (r *run) pause(last *mcp.Call, in *mcp.InputRequired) *mcp.Call {
	noted := r.noteState(in.State)
	t := r.e.timer(max(in.RetryAfter, minRetry))
	defer r.e.putTimer(t)
	select {
	case <-t.C:
	case <-r.ctx.Done():
	}
	if r.ctx.Err() == nil && !time.Now().Before(r.deadline) {
		r.cancel(errDeadline)
	}
	if r.ctx.Err() != nil {
		r.interrupted()
		return nil
	}
	next := *last
	next.State, next.Responses, next.Attempt = in.State, nil, 1
	if !noted {
		noted = r.noteState(in.State)
	}
	if noted && !r.markDispatched() {
		r.interrupted()
		return nil
	}
	return &next
}

// noteState keeps the backend's state with the record, where there is one: should this replica be
// lost, another goes on from here.
func (r *run) noteState(kept []byte) bool {
	r.settle()
	if !r.attached() {
		return false
	}
	err := r.write(func(ctx context.Context, w state.Write) error {
		return r.e.store.Park(ctx, w, nil, keptState(r.asked, r.before, kept))
	})
	return err == nil
}

// markDispatched records that the backend is being called. False: the call is somebody else's.
func (r *run) markDispatched() bool {
	r.settle()
	err := r.write(func(ctx context.Context, w state.Write) error {
		w.Dispatched = true
		return r.e.store.Append(ctx, w)
	})
	return err == nil
}
