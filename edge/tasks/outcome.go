package tasks

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// ended counts and records how the task ended, once its end is in the store. The replica that wrote the end calls it, and so once for each
// task, whichever replica ran it before.
func (x *execution) ended(r *call.Reply) {
	status, o := x.outcomeOf(r)
	x.t.counters.count(status)
	if x.origin == nil { // Only its end was written again.
		return
	}
	a := telemetry.Audited{Principal: x.first.Principal, Call: x.first.ID, Task: x.session.ID, Method: x.first.Method, Target: x.first.Params.Target, Trace: x.span}
	if by := x.t.cancellers.of(x.session.ID); by != nil && status == Cancelled {
		a.Principal = *by
	}
	x.t.cancellers.forget(x.session.ID)
	a.Backend = cmp.Or(x.bound(), x.served)
	x.t.o.Telemetry.TaskEnded(a, &o, time.Since(x.session.Created))
}

// outcomeOf returns how a task ended with a reply. A result that says isError counts as failed.
func (x *execution) outcomeOf(r *call.Reply) (Status, telemetry.Outcome) {
	var e entry
	err := json.Unmarshal(r.Response, &e)
	switch {
	case r.Cancelled || err != nil || e.Cancelled:
		return Cancelled, telemetry.Outcome{Kind: mcp.KindCancelled, Code: x.rules.Code(mcp.KindCancelled)}
	case e.Failure != nil:
		kind := mcp.KindNamed(e.Failure.Kind)
		x.mu.Lock()
		defer x.mu.Unlock()
		return Failed, telemetry.Outcome{Kind: kind, Code: x.rules.Code(kind), Message: e.Failure.Message, Cause: x.cause}
	case e.ToolError:
		return Failed, telemetry.Outcome{ToolError: true}
	}
	return Completed, telemetry.Outcome{}
}
