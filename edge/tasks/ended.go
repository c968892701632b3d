package tasks

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// ended counts and records the outcome of a task, once its end is in the store. The replica that
// wrote the end calls it, so that it is called once for each task.
func (x *runner) ended(r *call.Reply) {
	status, o := x.outcomeOf(r)
	x.t.counters.count(status)
	if x.origin == nil { // Only the end of the task was written again.
		return
	}
	params := &x.First.Params
	a := &telemetry.Audited{
		Principal: x.First.Principal, Call: x.First.ID, Task: x.session.ID, Set: x.First.Set, Method: x.First.Method, Attempt: int(x.attempt.Load()),
		Target: params.Target, Shown: params.Shown(), Via: params.Via(), Trace: x.span, Backend: cmp.Or(x.Bound(), x.Served),
	}
	if by, ok := x.t.cancellers.Get(x.session.ID); ok && status == Cancelled {
		a.Principal = *by
	}
	x.t.cancellers.Remove(x.session.ID)
	a.AddTrials(x.Context)
	x.t.o.Telemetry.TaskEnded(a, &o, time.Since(x.session.Created))
}

// outcomeOf returns the status and the outcome of a task that ended with a reply. A result with
// isError counts as failed.
func (x *runner) outcomeOf(r *call.Reply) (Status, telemetry.Outcome) {
	var e entry
	err := json.Unmarshal(r.Response, &e)
	switch {
	case r.Cancelled || err != nil || e.Cancelled:
		return Cancelled, telemetry.Outcome{Kind: mcp.KindCancelled, Code: x.Rules.Code(mcp.KindCancelled)}
	case e.Failure != nil:
		kind := mcp.KindNamed(e.Failure.Kind)
		x.mu.Lock()
		defer x.mu.Unlock()
		return Failed, telemetry.Outcome{Kind: kind, Code: x.Rules.Code(kind), Message: e.Failure.Message, Cause: x.cause}
	case e.ToolError:
		return Failed, telemetry.Outcome{ToolError: true}
	}
	return Completed, telemetry.Outcome{}
}
