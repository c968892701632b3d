package tasks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// cancelTimeout bounds the RPC that notifies a backend that its job is cancelled.
const cancelTimeout = 10 * time.Second

// job is the backend's own work between two rounds of a task, named by the state that the round
// returned. The zero value is no job. A job that no replica will query again is cancelled: the job
// of a cancelled task, even if the task was cancelled during the round that began the job, and the
// job of a task that another replica has claimed without the state. If another replica cancels the
// task by its record, one of the two cancels the job, as the record says: see jobRecord. Safe for
// concurrent use.
type job struct {
	mu sync.Mutex
	// kept is the call that cancels the job. It is nil if there is no job, and while the backend
	// runs a round that is not repeatable, whose own cancellation reaches the backend.
	kept *mcp.Call
	// over is closed when the round that runs here is cancelled; nil means that there was none.
	// repeatable is true if that round has a state and may be repeated.
	over       <-chan struct{}
	repeatable bool
	// private is true if no other replica can run the job's round.
	private bool
	// resumable is true if the round to which the record's state belongs may be repeated.
	resumable bool
	record    jobRecord
	// sent is true while a write that changes record is on its way.
	sent bool
	task jobTask
}

// jobRecord is what the task's record in the store has of a job, as far as this replica knows. A call
// of the backend resets it.
//
//	recordNone ── a write with the state, or a checkpoint ──► recordKept
//	                                                            │
//	                    a write that the backend is called, and the round is not repeatable
//	                                                            ▼
//	                                                        recordCalled
type jobRecord uint8

const (
	// recordNone: the store has no state of the job.
	recordNone jobRecord = iota
	// recordKept: the store may have the state. A replica that cancels the task by its record
	// cancels the job.
	recordKept
	// recordCalled: the store may have the state, and that the backend is called with it. A replica
	// that cancels the task leaves the job to the cancellation of the round.
	recordCalled
)

// jobTask is the state of a job's task on this replica:
//
//	         finish: cancelled
//	taskRuns ───────────────► taskCancelled ──────┐
//	    │ finish: cancelled, but another owner    │
//	    ├──────────────────► taskCancelledByOther ┼─ the job was returned ─► jobReturned
//	    │ finish: another owner                   │
//	    └──────────────────► taskLost ────────────┘
type jobTask uint8

const (
	// taskRuns: the task runs here, or it has ended or waits without a reason to cancel its job.
	taskRuns jobTask = iota
	// taskCancelled: the task was cancelled.
	taskCancelled
	// taskCancelledByOther: the task was cancelled, and another replica owns its record.
	taskCancelledByOther
	// taskLost: another replica owns the task.
	taskLost
	// jobReturned: the job was returned for cancellation.
	jobReturned
)

// keep stores a job that a round returned. private is true if no other replica may run its round.
// It returns the job if it must be cancelled, and otherwise nil.
func (j *job) keep(c *mcp.Call, private bool) (cancel *mcp.Call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept, j.private = c, private
	return j.take()
}

// load stores the job of a record: its round may be repeated if resumable, and is being called if
// called. It returns the job if it must be cancelled, and otherwise nil.
func (j *job) load(c *mcp.Call, resumable, called bool) (cancel *mcp.Call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept, j.private, j.resumable, j.record = c, false, resumable, recordKept
	j.called(called)
	return j.take()
}

// called records that the store may have that the backend is called.
func (j *job) called(called bool) {
	if called && !j.resumable && j.record == recordKept {
		j.record = recordCalled
	}
}

// start records that a round begins: see over and repeatable. The job of a repeatable round is then
// loaded again.
func (j *job) start(over <-chan struct{}, repeatable bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over, j.repeatable = over, repeatable; repeatable {
		j.clear()
	}
}

// clear removes the job. The caller holds j.mu.
func (j *job) clear() { j.kept, j.record, j.resumable, j.sent = nil, recordNone, false, false }

// reach records that the backend is about to be called for the round. From then on the cancellation
// of the round reaches the backend, which has the job, unless the round was cancelled before.
func (j *job) reach() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.repeatable {
		return
	}
	select {
	case <-j.over:
	default:
		j.clear()
	}
}

// changesRecord reports whether a write changes what the record has of a job. A record that begins
// with a round that is not repeatable does not: its state is written again before that round.
func changesRecord(w *medium.Write) bool {
	return len(w.State) > 0 || w.Next == medium.NextDispatched || beginsResumable(w)
}

// beginsResumable reports whether a record begins with a round that may be repeated.
func beginsResumable(w *medium.Write) bool {
	return len(w.Begin) > 0 && w.Begin[0].Resumable && len(w.Begin[0].State) > 0
}

// stores records that a write is about to be sent.
func (j *job) stores(w *medium.Write) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sent = j.sent || changesRecord(w)
}

// stored records the result of a write. Unless the store refused the write, other replicas may see
// it. It returns the job if it must be cancelled, and otherwise nil.
func (j *job) stored(w *medium.Write, err error) (cancel *mcp.Call) {
	if !changesRecord(w) {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sent = false
	if !errors.Is(err, state.ErrFenced) && !errors.Is(err, state.ErrNotFound) {
		switch {
		case len(w.State) > 0:
			j.record, j.resumable = recordKept, w.Resumable
		case beginsResumable(w):
			j.record, j.resumable = recordKept, true
		}
		j.called(w.Next == medium.NextDispatched)
	}
	return j.take()
}

// finish records that the task no longer runs here. It returns the job to cancel. nil means that
// there is none, or none yet.
func (j *job) finish(how call.How, r *call.Reply) *mcp.Call {
	j.mu.Lock()
	defer j.mu.Unlock()
	cancelled := r != nil && r.Cancelled
	switch {
	case j.task != taskRuns:
	case how == call.HowLost && cancelled:
		j.task = taskCancelledByOther
	case how == call.HowLost:
		j.task = taskLost
	case how == call.HowEnded && cancelled:
		j.task = taskCancelled
	}
	return j.take()
}

// take returns the job, once, if it must be cancelled.
func (j *job) take() *mcp.Call {
	due := false
	switch j.task {
	case taskCancelled:
		due = true
	case taskCancelledByOther: // The other replica does not cancel the job.
		due = j.record != recordKept && !j.sent
	case taskLost: // No other replica knows the job.
		due = j.private && j.record == recordNone && !j.sent
	}
	if j.kept == nil || !due {
		return nil
	}
	j.task = jobReturned
	return j.kept
}

// keepsJob stores the state that the backend returned from a round. asked counts the rounds before
// it that asked the client.
func (x *runner) keepsJob(asked int, kept []byte, private bool) {
	if len(kept) > 0 {
		x.cancelJob(x.job.keep(x.jobCall(asked, kept), private))
	}
}

// loadsJob stores the job of a record, as keepsJob does: see job.load.
func (x *runner) loadsJob(asked int, kept []byte, resumable, called bool) {
	if len(kept) > 0 {
		x.cancelJob(x.job.load(x.jobCall(asked, kept), resumable, called))
	}
}

// jobCall returns the call that cancels a job.
func (x *runner) jobCall(asked int, kept []byte) *mcp.Call {
	c := x.First
	c.State, c.Responses, c.Attempt, c.Round, c.Task = kept, nil, 1, asked+1, nil
	c.HTTP, c.Header, c.Memory, c.Backend = mcp.HTTP{}, nil, nil, x.Bound()
	return &c
}

// cancelJob notifies the backend that a job is cancelled; nil does nothing.
func (x *runner) cancelJob(c *mcp.Call) {
	if c == nil {
		return
	}
	x.t.work.Spawn(func() {
		ctx, cancel := context.WithTimeout(x.Context, cancelTimeout)
		defer cancel()
		if err := x.t.next.CancelCall(ctx, x.Rules, c); err != nil {
			x.t.o.Logger.Warn("a backend could not be notified that a task was cancelled", "call", c.ID, "error", err)
		}
	})
}
