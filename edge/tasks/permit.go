package tasks

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// A request about a task is decided like a call of the task's tool now, with the rights and the
// client of the caller, and the stored arguments. The creator of a task, which is the same
// principal with the same client, may always see that the task exists, and cancel it. Without the
// right to the tool, it sees no data of the tool.
//
// A task belongs to the set in which it was created, whose endpoint decides who may use it. At
// another endpoint only its creator sees that it exists, and may cancel it.

// use is the purpose of a decision on a task. The zero value means that the request names the task,
// and the decision is counted and recorded.
type use struct {
	// creator means that the creator of the task may always make the request.
	creator bool
	// quiet means that the decision is part of another request.
	quiet bool
	// local means that only rules and scopes decide.
	local bool
	// within bounds the cost of the decision; nil means no bound.
	within *allowance
}

var (
	useRequest = use{}
	useCancel  = use{creator: true}
	useQuiet   = use{quiet: true}
	useLocal   = use{quiet: true, local: true}
)

// permit decides on a request that names a task of the caller's principal. The error is the
// response. The task is reported as unknown if the policy hides the tool and the caller is not the
// creator.
func (t *Tasks) permit(ctx context.Context, rules *revision.Rules, c *mcp.Call, v *view, what use) error {
	own := v.createdBy(&c.Principal)
	if v.Set != c.Set {
		switch {
		case !own:
			return unknown(v.ID)
		case !what.creator:
			return otherEndpointError(v.Set)
		}
		there := *c
		there.Set = v.Set
		c = &there
	}
	call := mcp.TaskCall{ID: v.ID, Tool: v.Tool, Backend: v.Backend, Creator: own && what.creator, Unrecorded: what.quiet, RulesOnly: what.local}
	if what.within != nil {
		call.Ask = what.within.ask
		defer what.within.held.Release()
	}
	call.Arguments = func() (json.RawMessage, error) {
		if what.within != nil {
			if err := what.within.read(v.Arguments); err != nil {
				return nil, err
			}
		}
		return t.argumentsOf(ctx, v)
	}
	hidden, err := t.next.PermitTask(ctx, rules, c, &call)
	if !hidden {
		return err
	}
	e := unknown(v.ID)
	if own {
		e = mcp.Errorf(mcp.KindForbidden, "forbidden: the policy no longer allows you the tool of this task; you can still cancel it")
	}
	e.Reason = err.Error() // for the log
	return e
}

// otherEndpointError returns the error for a request about a task of a set at another endpoint.
func otherEndpointError(set string) *mcp.Error {
	if set == "" {
		return mcp.Errorf(mcp.KindForbidden, "forbidden: the task belongs to the endpoint without a set: send the request there; here the task can be seen and cancelled")
	}
	return mcp.Errorf(mcp.KindForbidden, "forbidden: the task belongs to the set %q: send the request to its endpoint; here the task can be seen and cancelled", set)
}

// createdBy reports whether a caller of the task's principal created it: by the same client, for
// the same actor.
func (v *view) createdBy(who *mcp.Principal) bool {
	return v.Principal.Is(who) && v.Principal.Client == who.Client && v.Principal.Actor == who.Actor
}

// visible returns the part of a task of the caller's principal that the caller may see, or nil.
// withheld is the error for the rest, or nil.
func (t *Tasks) visible(ctx context.Context, rules *revision.Rules, c *mcp.Call, v *view, what use) (seen *view, withheld error) {
	withheld = t.permit(ctx, rules, c, v, what)
	switch {
	case withheld == nil:
		return v, nil
	case v.createdBy(&c.Principal):
		return v.statusOnly(), withheld
	}
	return nil, withheld
}

// statusOnly returns the view of a creator that may no longer use the tool: the existence and the status
// of the task.
func (v *view) statusOnly() *view {
	b := *v
	b.Message, b.token, b.progress, b.total, b.asks, b.args, b.approval = "", nil, nil, nil, nil, nil, nil
	return &b
}

// get serves tasks/get. A creator that may no longer use the tool gets the task if the response has
// no data of the tool.
func (t *Tasks) get(ctx context.Context, rules *revision.Rules, c *mcp.Call, v *view) (mcp.Reply, error) {
	v, err := t.lapse(ctx, c.Memory, v, &c.Principal)
	if err != nil {
		return mcp.Reply{}, err
	}
	seen, withheld := t.visible(ctx, rules, c, v, useRequest)
	if v.approval != nil && v.Set == c.Set && v.createdBy(&c.Principal) {
		t.renew(ctx, v, &c.Principal, withheld)
	}
	if seen == nil || withheld != nil && rules.Stateless && v.status != Working && v.status != Cancelled {
		return mcp.Reply{}, withheld
	}
	return t.stateReply(rules, c, seen), nil
}

// challenge requests other credentials if tasks/result needs them. It is the only request about
// tasks that may be answered late, or continue with a client's answer. All others are decided when
// they are served.
func (t *Tasks) challenge(ctx context.Context, rules *revision.Rules, c *mcp.Call) error {
	if c.Method != mcp.MethodTasksResult || t.o.Challenges == nil || !t.o.Challenges() {
		return nil
	}
	v, err := t.load(ctx, c.Memory, c.Params.Target, &c.Principal)
	if err != nil {
		return nil
	}
	var lacking *mcp.Error
	if err := t.permit(ctx, rules, c, v, useLocal); !errors.As(err, &lacking) || lacking.Challenge == nil {
		return nil
	}
	return t.permit(ctx, rules, c, v, useRequest) // This decision is recorded.
}
