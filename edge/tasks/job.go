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

// cancelTimeout bounds the RPC that notifies a backend that its job is cancelled.
const cancelTimeout = 10 * time.Second

// job is what a backend keeps between two rounds of a task: work of its own, named by the state that the round returned. The zero value
// is no job. A job that no replica will query again is cancelled: that of a cancelled task, even if the task was cancelled during the
// round that began the job, and that of a task which another replica has taken without the state. Safe for concurrent use.
type job struct {
	mu sync.Mutex
	// kept cancels the job; nil if there is none, or while a round runs that is not repeatable and sees its own cancellation.
	kept *mcp.Call
	// private is true if no other replica can know the job: none runs its round, and known is false.
	private bool
	// known is true if the store may have a state that the current round returned, or checkpointed.
	known bool
	// cancelled: the task was cancelled. lost: another replica owns it. told: kept was returned to be cancelled.
	cancelled, lost, told bool
}

// keep stores a job of a round that is private unless another replica may run it. It returns the job if it is to be cancelled, nil
// otherwise.
func (j *job) keep(c *mcp.Call, private bool) (cancel *mcp.Call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept, j.private = c, private && !j.known
	return j.take()
}

// clear removes the job: the round that runs now sees its own cancellation.
func (j *job) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept, j.known = nil, false
}

// stored records the result of a write: unless the store refused it, other replicas may know the job.
func (j *job) stored(w *medium.Write, err error) {
	if len(w.State) == 0 || errors.Is(err, state.ErrFenced) || errors.Is(err, state.ErrNotFound) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.known, j.private = true, false
}

// over records that the task no longer runs here. It returns the job to cancel; nil if there is none, or none yet.
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

// keepsJob stores the state that the backend returned from a round. asked is how often the client was asked before that round.
func (x *execution) keepsJob(asked int, kept []byte, private bool) {
	if len(kept) == 0 {
		return
	}
	c := x.first
	c.State, c.Responses, c.Attempt, c.Round = kept, nil, 1, asked+1
	c.HTTP, c.Header, c.Memory, c.Backend = mcp.HTTP{}, nil, nil, x.bound()
	x.cancelJob(x.job.keep(&c, private))
}

// cancelJob notifies the backend that a job is cancelled; nil does nothing.
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
