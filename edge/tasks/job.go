package tasks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// cancelTimeout bounds the call by which a backend is told that its job is cancelled.
const cancelTimeout = 10 * time.Second

// job is what a backend keeps between two rounds of a task: work of its own, named by the state that the round returned. The zero value
// is no job. A job that nobody asks about again is cancelled: that of a task that was cancelled, even while the round ran that began the
// job, and that of a task which another replica has taken without the state. Safe for concurrent use.
type job struct {
	mu sync.Mutex
	// kept cancels the job; nil: there is none, or a round runs that is not repeatable and sees its own cancellation.
	kept *mcp.Call
	// private: no other replica can know the job: its round is run by none, and known is false.
	private bool
	// known: the store may have a state that the round that runs returned, or checkpointed.
	known bool
	// cancelled: the task was cancelled. lost: another replica has it. told: kept was returned to be cancelled.
	cancelled, lost, told bool
}

// keep notes a job, of a round that is private unless another replica may run it. It returns the job when it is to be cancelled, and nil
// otherwise.
func (j *job) keep(c *mcp.Call, private bool) (cancel *mcp.Call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept, j.private = c, private && !j.known
	return j.take()
}

// clear forgets the job: the round that runs now sees its own cancellation.
func (j *job) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept, j.known = nil, false
}

// stored notes what the store answered to a write: unless it refused the write, others may know the job.
func (j *job) stored(w *medium.Write, err error) {
	if len(w.State) == 0 || errors.Is(err, state.ErrFenced) || errors.Is(err, state.ErrNotFound) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.known, j.private = true, false
}

// over notes that the task does not run here any more. It returns the job to cancel; nil: there is none, or none yet.
func (j *job) over(how call.How, r *call.Reply) *mcp.Call {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cancelled = how == call.HowEnded && r != nil && r.Cancelled
	j.lost = how == call.HowLost
	return j.take()
}

// take returns the job if it is to be cancelled, once.
func (j *job) take() *mcp.Call {
	if j.told || j.kept == nil || !j.cancelled && !(j.lost && j.private) {
		return nil
	}
	j.told = true
	return j.kept
}

// keepsJob notes the state that the backend returned from a round, before which the client was asked that often.
func (x *execution) keepsJob(asked int, kept []byte, private bool) {
	if len(kept) == 0 {
		return
	}
	c := x.first
	c.State, c.Responses, c.Attempt, c.Round = kept, nil, 1, asked+1
	c.HTTP, c.Header, c.Memory, c.Backend = mcp.HTTP{}, nil, nil, x.bound()
	x.cancelJob(x.job.keep(&c, private))
}

// cancelJob tells the backend that a job is cancelled; nil does nothing.
func (x *execution) cancelJob(c *mcp.Call) {
	if c == nil {
		return
	}
	x.t.work.Spawn(func() {
		ctx, cancel := context.WithTimeout(x.base, cancelTimeout)
		defer cancel()
		if err := x.t.next.CancelCall(ctx, x.rules, c); err != nil {
			x.t.o.Logger.Warn("a backend could not be told that a task was cancelled", "call", c.ID, "error", err)
		}
	})
}
