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
// job of a task that another replica has claimed without the state. Safe for concurrent use.
type job struct {
	mu sync.Mutex
	// kept is the call that cancels the job. It is nil if there is no job, and during a round that
	// is not repeatable, whose own cancellation reaches the backend.
	kept *mcp.Call
	// private is true if no other replica can run the job's round.
	private bool
	// known is true if the store may have a state that the current round returned, or checkpointed; sent is true while a write with
	// one is on its way.
	known, sent bool
	task        jobTask
}

// jobTask is the state of a job's task on this replica:
//
//	         finish: cancelled
//	taskRuns ───────────────► taskCancelled ─┬─ the job was returned ─► jobReturned
//	    │                                    │
//	    └─ finish: another owner ─► taskLost ──┘
type jobTask uint8

const (
	// taskRuns: the task runs here, or it has ended or waits without a reason to cancel its job.
	taskRuns jobTask = iota
	// taskCancelled: the task was cancelled.
	taskCancelled
	// taskLost: another replica owns the task.
	taskLost
	// jobReturned: the job was returned for cancellation.
	jobReturned
)

// keep stores a job. private is true if no other replica may run its round. It returns the job if
// it must be cancelled, and otherwise nil.
func (j *job) keep(c *mcp.Call, private bool) (cancel *mcp.Call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept, j.private = c, private
	return j.take()
}

// clear removes the job: the cancellation of the round that runs now reaches the backend.
func (j *job) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept, j.known, j.sent = nil, false, false
}

// stores records that a write is about to be sent.
func (j *job) stores(w *medium.Write) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sent = j.sent || len(w.State) > 0
}

// stored records the result of a write. Unless the store refused the write, other replicas may know
// the job. It returns the job if it must be cancelled, and otherwise nil.
func (j *job) stored(w *medium.Write, err error) (cancel *mcp.Call) {
	if len(w.State) == 0 {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	refused := errors.Is(err, state.ErrFenced) || errors.Is(err, state.ErrNotFound)
	j.known, j.sent = j.known || !refused, false
	return j.take()
}

// finish records that the task no longer runs here. It returns the job to cancel. nil means that
// there is none, or none yet.
func (j *job) finish(how call.How, r *call.Reply) *mcp.Call {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.task != taskRuns:
	case how == call.HowLost:
		j.task = taskLost
	case how == call.HowEnded && r != nil && r.Cancelled:
		j.task = taskCancelled
	}
	return j.take()
}

// take returns the job, once, if it must be cancelled.
func (j *job) take() *mcp.Call {
	if j.kept == nil {
		return nil
	}
	if j.task == taskCancelled || j.task == taskLost && j.private && !j.known && !j.sent { // No other replica knows the job.
		j.task = jobReturned
		return j.kept
	}
	return nil
}

// keepsJob stores the state that the backend returned from a round. asked counts the rounds before
// it that asked the client.
func (x *runner) keepsJob(asked int, kept []byte, private bool) {
	if len(kept) == 0 {
		return
	}
	c := x.First
	c.State, c.Responses, c.Attempt, c.Round, c.Task = kept, nil, 1, asked+1, nil
	c.HTTP, c.Header, c.Memory, c.Backend = mcp.HTTP{}, nil, nil, x.Bound()
	x.cancelJob(x.job.keep(&c, private))
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
