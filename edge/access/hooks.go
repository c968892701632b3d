package access

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// RecordHooks records the decisions of hooks about a call or its result. At least one of them is not
// Passed. It returns err, the error of the hook that refuses, or the error of the audit if the
// decisions cannot be recorded.
func (p *Permit) RecordHooks(ctx context.Context, call *mcp.Call, made []hook.Decision, err error) error {
	if p.by == nil {
		return err
	}
	v := audit.Verdict{Effect: audit.Allow, By: audit.ByHook}
	var hooks []audit.Hook
	for i := range made {
		d := &made[i]
		if v.Rule == "" && d.Outcome != hook.Passed && !d.Would {
			v.Rule = d.Name
		}
		if d.Refuses() {
			v.Effect, v.Rule = audit.Deny, d.Name
		}
		hooks = append(hooks, audit.Hook{Name: d.Name, On: d.On.String(), Outcome: d.Outcome.String(), Reason: d.Reason, Would: d.Would})
	}
	return p.by.c.record(ctx, call, p.backend, details{hooks: hooks}, v, err)
}
