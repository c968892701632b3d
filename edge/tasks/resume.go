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

// resume makes the execution of a claimed task.
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
	if len(r.Params) == 0 { // It has ended, and only its end is written again.
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

// call returns the first round of the request from its record.
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

// progressToken makes backends send their progress, which becomes the task's status.
var progressToken = json.RawMessage(`"task"`)

// callerOf returns the principal with whose rights a task continues: that of the answer with which it was claimed, or of the last
// answer of its round; otherwise the one with which it began.
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
