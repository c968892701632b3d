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

// DecideTask authorizes a request about a task. It returns nil if the caller may call the task's
// tool, t, with the stored arguments now, and otherwise policy.ErrHidden, policy.ErrReplaced, a
// *mcp.Error, or the error of args, as Decide does. Each decision is recorded with the caller, the
// method and the task, unless task.Unrecorded is set.
//
// The policy server authorizes what the policy allows, as a tools/call of the tool with the
// arguments. Its answer is cached by task and credentials until the policy is replaced. A failure
// to ask it is not cached.
func (x *Decider) DecideTask(ctx context.Context, rules *revision.Rules, call *mcp.Call, task *mcp.TaskCall, t *policy.Target, args policy.Arguments) error {
	v := audit.Verdict{Effect: audit.Allow}
	p := x.policy
	if p != nil && task.Creator {
		v.By = audit.ByOwnership
	}
	if p == nil || task.Creator {
		return x.c.decidedTask(ctx, call, task, t, v, nil)
	}
	decide := p.Decide
	if task.Unrecorded {
		decide = p.Explain
	}
	d, err := decide(&call.Principal, t, args)
	if err != nil {
		return err
	}
	if d.Err != nil {
		x.report(call, t.Name, &d)
	}
	v.By = audit.ByPolicy
	if d.Effect != policy.Allow {
		v, err = x.refusal(rules, call, &d)
		return x.c.decidedTask(ctx, call, task, t, v, err)
	}
	if x.external == nil || task.RulesOnly {
		return x.c.decidedTask(ctx, call, task, t, v, nil)
	}
	a, err := x.askOnce(ctx, call, task)
	switch {
	case errors.Is(err, external.ErrClosed):
		return x.closedError(err)
	case err != nil:
		return err
	}
	v.By, v.Rule = audit.ByExternal, a.Outcome.String()
	if !a.Allow {
		v.Effect = audit.Deny
		return x.c.decidedTask(ctx, call, task, t, v, denial(&a))
	}
	return x.c.decidedTask(ctx, call, task, t, v, nil)
}

// maxTaskAnswers bounds the cached answers of the policy server about tasks. The least recently
// used one is evicted.
const maxTaskAnswers = 16 << 10

// taskKey is the SHA-256 of a task's id and the caller's credentials.
type taskKey [sha256.Size]byte

// keyOf returns the key for a task and the credentials of a request: its token, or the whole
// principal if it has no token.
func keyOf(ctx context.Context, who *mcp.Principal, task string) taskKey {
	b := append([]byte(task), 0)
	if token := mcp.TokenOf(ctx); !token.IsZero() {
		b = append(append(b, 't'), token.Reveal()...)
	} else {
		b = who.AppendIdentity(append(append(b, 'p'), who.TokenID...), nil)
	}
	return sha256.Sum256(b)
}

// taskAnswer is the answer of the policy server about a task for a caller. turn is a lock of the
// other fields: sending to it locks, receiving from it unlocks.
type taskAnswer struct {
	turn  chan struct{}
	known bool
	external.Answer
}

// askOnce returns the cached answer of the policy server about a tools/call of a task's tool, or
// asks it. A concurrent call with the same key waits for the first one, until ctx ends.
func (x *Decider) askOnce(ctx context.Context, call *mcp.Call, task *mcp.TaskCall) (external.Answer, error) {
	key := keyOf(ctx, &call.Principal, task.ID)
	fresh := &taskAnswer{turn: make(chan struct{}, 1)}
	a, had, _ := x.answers.PeekOrAdd(key, fresh)
	if !had {
		a = fresh
	} else {
		x.answers.Get(key) // marks it as used
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
	said, err := x.external.Ask(ctx, asked)
	if err != nil {
		return said, err
	}
	x.c.asked[said.Outcome].Add(1)
	a.Answer, a.known = said, said.Outcome != external.Failed
	return said, nil
}

// toolCall returns the tools/call that created a task, with the principal and credentials of call.
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
	if err := asked.Params.Parse(asked.Method, append(params, '}'), nil); err != nil {
		return nil, mcp.AsError(err)
	}
	return &asked, nil
}

// decidedTask implements decided for a request about a task.
func (c *Control) decidedTask(ctx context.Context, call *mcp.Call, task *mcp.TaskCall, t *policy.Target, v audit.Verdict, err error) error {
	if task.Unrecorded {
		return err
	}
	print := telemetry.SessionPrint(task.ID)
	if a := telemetry.AuditedRequest(ctx); a != nil && a.Task == print {
		a.Target, a.Backend = t.Name, t.Backend
	}
	named := *call
	named.Params = mcp.Params{Target: t.Name} // the client's params contain the id of the task
	return c.record(ctx, &named, t.Backend, details{task: print}, v, err)
}
