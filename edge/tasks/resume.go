package tasks

import (
	"context"
	"encoding/json"
	"net/netip"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// resume makes the runner of a claimed task (runtime.Options).
func (t *Tasks) resume(o *medium.Owned, why runtime.Reason) (*runtime.Claimed, error) {
	r, s := o.Record, o.Session
	t.noteRecent(s.ID)
	ctx := telemetry.CollectTrials(mcp.WithToken(context.Background(), why.Token))
	x := &runner{t: t, session: s}
	x.Rules, x.Context, x.Repeatable = rulesOf(s.Version), ctx, r.Repeatable
	x.begun.Store(true)
	x.made.Store(true)
	x.attempt.Store(int64(runtime.AttemptOf(r, why.Why)))
	if x.span, x.reason = telemetry.ParseParent(r.Trace), telemetry.ReasonTakenOver; why.Why == call.ByAnswer {
		x.reason = telemetry.ReasonAnswered
	}
	x.Init(t.calls, mcp.HolderOf(t.o.Memory, r.Principal, netip.Addr{}))
	if len(r.Params) == 0 { // The task has ended, and only its end is written again.
		return &runtime.Claimed{Runner: x, Context: ctx}, nil
	}
	var err error
	x.origin = r.Params
	if x.First, err = firstRound(r, s); err != nil {
		return nil, err
	}
	x.First.Principal = why.Caller(r)
	t.cancelledBy(s.ID, runtime.Canceller(r))
	called := r.Phase == state.PhaseDispatched
	if !called || r.Resumable || !r.Cancelled { // Otherwise the last owner cancels its round, or the job: see jobRecord.
		asked, _, own, _ := runtime.OpenState(r.State)
		x.loadsJob(asked, own, r.Resumable, called)
	}
	x.Memory.Force(budget.Calls, copies*int64(len(r.Params))) // The memory was admitted when the task began.
	return &runtime.Claimed{Runner: x, Context: ctx}, nil
}

// firstRound returns the first round of the request of a record, whose params are its origin.
func firstRound(r *medium.Record, s *state.Session) (mcp.Call, error) {
	o, err := readOrigin(r.Params)
	if err != nil {
		return mcp.Call{}, err
	}
	caps, err := mcp.ParseCapabilities(s.Capabilities)
	if err != nil {
		return mcp.Call{}, err
	}
	c := mcp.Call{
		ID: o.Call, Round: o.Asked + 1, Method: r.Method, Set: s.Set, Principal: r.Principal, State: o.State, Backend: r.Backend,
		Client: mcp.Client{Info: s.ClientInfo, Capabilities: caps},
	}
	if err := c.Params.Parse(r.Method, o.Params, nil); err != nil {
		return mcp.Call{}, err
	}
	c.Params.Resume(r.Shown, r.Via, r.Added)
	c.Params.Meta.ProgressToken = progressToken
	for _, a := range o.Responses {
		c.Responses = append(c.Responses, mcp.InputResponse{Key: a.Key, Method: a.Method, Result: a.Result})
	}
	return c, nil
}

// progressToken makes backends send their progress, which becomes the task's status.
var progressToken = json.RawMessage(`"task"`)
