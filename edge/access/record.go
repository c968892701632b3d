package access

import (
	"context"
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// decided records the verdict on a call for the backend. It is called once for each decision. It
// returns err, the error of the verdict, or the error of the audit if the verdict cannot be
// recorded.
//
// The error of a hidden target is returned even if it cannot be recorded: another error would
// reveal that the target exists.
func (c *Control) decided(ctx context.Context, call *mcp.Call, backend string, v audit.Verdict, err error) error {
	return c.record(ctx, call, backend, details{}, v, err)
}

// details are the fields that some records have in addition to the verdict.
type details struct {
	// task is the digest of the task's id. Empty means that the request is not about a task.
	task string
	// hooks are the decisions of the hooks.
	hooks []audit.Hook
}

// record implements decided and its variants.
func (c *Control) record(ctx context.Context, call *mcp.Call, backend string, more details, v audit.Verdict, err error) error {
	if c.o.Records == nil {
		return err
	}
	r := audit.Record{
		Who:  audit.WhoOf(&call.Principal),
		Call: call.ID, Task: more.task, Hooks: more.hooks, Round: call.Round, Attempt: call.Attempt, Set: call.Set, Method: string(call.Method), Target: call.Params.Target, Shown: call.Params.Shown(), Via: call.Params.Via(),
		Backend: backend, Verdict: v,
	}
	if a := telemetry.AuditedRequest(ctx); a != nil {
		r.Who.Session, r.Trace, r.Would = a.Session, a.Trace, a.Trials()
	}
	arguments := audit.CallArguments{Effective: call.Params.Arguments}
	if call.Params.Added() != nil && arguments.Effective != nil {
		if arguments.Sent = call.Params.Sent.Arguments; arguments.Sent == nil {
			arguments.Sent = json.RawMessage("{}")
		}
	}
	if refused := c.o.Records.Decided(ctx, &r, arguments); refused != nil && v.Effect != audit.Hide {
		return refused
	}
	return err
}
