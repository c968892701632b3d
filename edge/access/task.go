package access

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// DecideTask decides on a request about a task: whether its caller may call the task's tool, the target, with the arguments that were
// kept, now. nil: the request may be made. Else it is a *mcp.Error or policy.ErrHidden, as of Decide, and the error of args. Unless
// task.Quiet says otherwise, each decision is recorded, with who makes the request, its method, and the task.
//
// The policy server is asked about what the policy allows, with a tools/call of the tool and the arguments: once for a task and the
// credentials of the caller, as long as the policy is in force. That it could not be asked is not remembered.
func (c *Control) DecideTask(ctx context.Context, rules *revision.Rules, call *mcp.Call, task *mcp.TaskCall, t *policy.Target, args policy.Arguments) error {
	v := audit.Verdict{Effect: audit.Allow}
	p := c.policy.Load()
	if p != nil && task.Creator {
		v.By = audit.ByOwnership
	}
	if p == nil || task.Creator {
		return c.decidedTask(ctx, call, task, t, v, nil)
	}
	decide := p.Decide
	if task.Quiet {
		decide = p.Explain
	}
	d, err := decide(&call.Principal, t, args)
	if err != nil {
		return err
	}
	if d.Err != nil {
		c.report(p, &d)
	}
	v.By = audit.ByPolicy
	if d.Effect != policy.Allow {
		v, err = c.refusal(p, rules, call, &d)
		return c.decidedTask(ctx, call, task, t, v, err)
	}
	if p.external == nil || task.Local {
		return c.decidedTask(ctx, call, task, t, v, nil)
	}
	a, err := c.askOnce(ctx, p, call, task)
	switch {
	case errors.Is(err, external.ErrClosed) && c.policy.Load() != p:
		return c.DecideTask(ctx, rules, call, task, t, args)
	case errors.Is(err, external.ErrClosed):
		return mcp.Errorf(mcp.KindUnavailable, "the server ends: %w", err)
	case err != nil:
		return err
	}
	v.By, v.Rule = audit.ByExternal, a.Outcome.String()
	if !a.Allow {
		v.Effect = audit.Deny
		return c.decidedTask(ctx, call, task, t, v, denial(&a))
	}
	return c.decidedTask(ctx, call, task, t, v, nil)
}

// maxTaskAnswers bounds the answers of the policy server about tasks that a policy in force remembers: the least recently used go first,
// and the server is asked again.
const maxTaskAnswers = 16 << 10

// taskKey is the SHA-256 of a task's id and of the credentials of who asks about it.
type taskKey [sha256.Size]byte

// keyOf is the key of a task and of the credentials of a request: its token, or where there is none all that is known of the caller.
func keyOf(ctx context.Context, who *mcp.Principal, task string) taskKey {
	b := append([]byte(task), 0)
	if token := mcp.TokenOf(ctx); !token.IsZero() {
		b = append(append(b, 't'), token.Reveal()...)
	} else {
		b = who.AppendIdentity(append(append(b, 'p'), who.TokenID...), nil)
	}
	return sha256.Sum256(b)
}

// taskAnswer is what the policy server said about a task and a caller. Who looks at it has put a token into turn.
type taskAnswer struct {
	turn  chan struct{}
	known bool
	external.Answer
}

// askOnce asks the policy server about a tools/call of a task's tool, unless it has answered that before. While another request asks
// the same, it waits for that one, and no longer than ctx lives.
func (c *Control) askOnce(ctx context.Context, p *inForce, call *mcp.Call, task *mcp.TaskCall) (external.Answer, error) {
	key := keyOf(ctx, &call.Principal, task.ID)
	fresh := &taskAnswer{turn: make(chan struct{}, 1)}
	a, had, _ := p.answers.PeekOrAdd(key, fresh)
	if !had {
		a = fresh
	} else {
		p.answers.Get(key) // It was used.
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return external.Answer{}, mcp.Errorf(mcp.KindCancelled, "the request ended before its policy server had answered: %w", context.Cause(ctx))
	}
	if a.known {
		return a.Answer, nil
	}
	if task.Ask != nil {
		if err := task.Ask(); err != nil {
			return external.Answer{}, err
		}
	}
	asked, err := toolCall(call, task)
	if err != nil {
		return external.Answer{}, err
	}
	said, err := p.external.Ask(ctx, asked)
	if err != nil {
		return said, err
	}
	c.asked[said.Outcome].Add(1)
	a.Answer, a.known = said, said.Outcome != external.Failed
	return said, nil
}

// toolCall is the request that a task was made by, as the caller of call would send it now.
func toolCall(call *mcp.Call, task *mcp.TaskCall) (*mcp.Call, error) {
	params := jsonrpc.AppendString([]byte(`{"name":`), task.Tool)
	if task.Arguments != nil {
		args, err := task.Arguments()
		if err != nil {
			return nil, err
		}
		if len(args) > 0 {
			params = append(append(params, `,"arguments":`...), args...)
		}
	}
	asked := *call
	asked.Method = mcp.MethodToolsCall
	asked.Params = mcp.Params{}
	if err := asked.Params.Parse(asked.Method, append(params, '}')); err != nil {
		return nil, mcp.AsError(err)
	}
	return &asked, nil
}

// decidedTask is decided for a request about a task.
func (c *Control) decidedTask(ctx context.Context, call *mcp.Call, task *mcp.TaskCall, t *policy.Target, v audit.Verdict, err error) error {
	if task.Quiet {
		return err
	}
	print := telemetry.SessionPrint(task.ID)
	if a := telemetry.AuditedRequest(ctx); a != nil && a.Task == print {
		a.Target, a.Backend = t.Name, t.Backend
	}
	named := *call
	named.Params.Target, named.Params.Arguments = t.Name, nil
	return c.record(ctx, &named, t.Backend, print, v, err)
}
