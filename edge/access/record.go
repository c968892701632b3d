package access

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// decided records what was decided on a call that the backend would serve, and returns the call's error: err, which is that
// of the verdict, or that the decision cannot be recorded. It is called once for each decision, and for none that was not
// taken, since the call ended before. What is hidden stays so, recorded or not: of what does not exist nothing is recorded, so
// that another error would tell the two apart.
func (c *Control) decided(ctx context.Context, call *mcp.Call, backend string, v audit.Verdict, err error) error {
	return c.record(ctx, call, backend, "", v, err)
}

// record is decided for a request about a task, whose id's print it has; empty: it is about none.
func (c *Control) record(ctx context.Context, call *mcp.Call, backend, task string, v audit.Verdict, err error) error {
	if c.o.Records == nil {
		return err
	}
	r := audit.Record{
		Who:  audit.WhoOf(&call.Principal),
		Call: call.ID, Task: task, Round: call.Round, Attempt: call.Attempt, Method: string(call.Method), Target: call.Params.Target, Backend: backend, Verdict: v,
	}
	if a := telemetry.AuditedRequest(ctx); a != nil {
		r.Who.Session, r.Trace = a.Session, a.Trace
	}
	if refused := c.o.Records.Decided(ctx, &r, call.Params.Arguments); refused != nil && v.Effect != audit.Hide {
		return refused
	}
	return err
}
