package dispatch

import (
	"context"
	"errors"
	"sync"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// PermitTask decides on a request that names a task: whether its caller may now call the task's
// tool with the stored arguments. nil allows the request; otherwise the error is a *mcp.Error.
// hidden means that the request must be answered as if the task did not exist. If the tool no
// longer exists, the decision uses its name, its former backend, and the hints of a tool without
// annotations.
func (d *Dispatch) PermitTask(ctx context.Context, rules *revision.Rules, call *mcp.Call, task *mcp.TaskCall) (hidden bool, err error) {
	if d.opts.Access == nil {
		return false, nil
	}
	target := policy.Target{Kind: policy.Tool, Method: mcp.MethodToolsCall, Name: task.Tool, Backend: task.Backend, Set: call.Set, Hints: catalog.HintsOf(nil)}
	t, known := d.catalog.KnownTool(call.Principal, task.Backend, task.Tool)
	if t != nil {
		target = t.Target
		target.Set = call.Set
	}
	once := *task
	if task.Arguments != nil { // The rules and the policy server may both read them.
		once.Arguments = sync.OnceValues(task.Arguments)
	}
	args := func() (map[string]any, error) {
		asked := *call
		asked.Params.Arguments = nil
		if once.Arguments != nil {
			if asked.Params.Arguments, err = once.Arguments(); err != nil {
				return nil, err
			}
		}
		r := &round{d: d, rules: rules, call: &asked}
		if t != nil {
			r.forTool(t)
		}
		return r.toolArguments()
	}
	err = known.(*access.Decider).DecideTask(ctx, rules, call, &once, &target, args)
	for errors.Is(err, policy.ErrReplaced) {
		err = d.opts.Access().DecideTask(ctx, rules, call, &once, &target, args)
	}
	return errors.Is(err, policy.ErrHidden), err
}
