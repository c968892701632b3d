package tasks

import (
	"context"
	"encoding/json"
	"net/netip"
	"slices"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/era/stateful/run"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// resume makes the execution of a task that was claimed.
func (t *Tasks) resume(o *medium.Owned, why run.Reason) (*run.Claimed, error) {
	r, s := o.Record, o.Session
	ctx := mcp.WithToken(context.Background(), why.Token)
	x := &execution{rules: rulesOf(s.Version), base: ctx, session: s, repeatable: r.Repeatable}
	x.isTask.Store(true)
	x.made.Store(true)
	if x.span, x.reason = telemetry.ParseParent(r.Trace), telemetry.ReasonTakenOver; why.Why == call.ByAnswer {
		x.reason = telemetry.ReasonAnswered
	}
	x.init(t, mcp.HolderOf(t.o.Memory, r.Principal, netip.Addr{}))
	if len(r.Params) == 0 { // It has ended, and only that is written again.
		return &run.Claimed{Task: x, Context: ctx}, nil
	}
	var err error
	if x.origin, err = readOrigin(r.Params); err != nil {
		return nil, err
	}
	if x.first, err = x.origin.call(r, s); err != nil {
		return nil, err
	}
	x.first.Principal = callerOf(r, why)
	t.cancellers.read(s.ID, r.CancelledBy)
	if r.Phase != state.PhaseDispatched {
		asked, kept, _ := openState(r.State)
		x.keepsJob(asked, kept, false)
	}
	x.memory.Force(budget.Calls, copies*int64(len(r.Params))) // It was admitted when it began.
	return &run.Claimed{Task: x, Context: ctx}, nil
}

// call is the first round of the request, as its record has it.
func (o *origin) call(r *medium.Record, s *state.Session) (mcp.Call, error) {
	caps, err := mcp.ParseCapabilities(s.Capabilities)
	if err != nil {
		return mcp.Call{}, err
	}
	c := mcp.Call{
		ID: o.Call, Method: r.Method, Principal: r.Principal, State: o.State, Backend: r.Backend,
		Client: mcp.Client{Info: s.ClientInfo, Capabilities: caps},
	}
	if err := c.Params.Parse(r.Method, o.Params, nil); err != nil {
		return mcp.Call{}, err
	}
	c.Params.Meta.ProgressToken = progressToken
	for _, a := range o.Responses {
		c.Responses = append(c.Responses, mcp.InputResponse{Key: a.Key, Method: a.Method, Result: a.Result})
	}
	return c, nil
}

// progressToken has backends send their progress, which is the task's status.
var progressToken = json.RawMessage(`"task"`)

// callerOf is with whose rights a task goes on: those of the answer that it was claimed by, or of the last one that its round has, else
// those that it began with.
func callerOf(r *medium.Record, why run.Reason) mcp.Principal {
	if why.By != nil {
		return *why.By
	}
	for _, q := range slices.Backward(r.Asked) {
		if q.Answer != nil {
			return q.Answer.By
		}
	}
	return r.Principal
}
