package dispatch

import (
	"context"
	"errors"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// Resolve implements the eras' Dispatcher. It looks up the target of a request, normalizes its
// arguments to the form that the backend reads, and applies rules and scopes. Call uses the target
// without another lookup.
//
// Resolve modifies call. If the catalog renames the target, it sets the canonical name in the
// params. If the catalog changes arguments, it sets these. In both cases it binds the call to the
// backend. So policy, records and audit use canonical names.
//
// A call of a tool of the edge that wraps a request becomes that request: a call of mcp.ToolCall
// becomes a call of the named tool, bound to its backend, and a call of mcp.ToolReadResource
// becomes a read.
func (d *Dispatch) Resolve(ctx context.Context, rules *revision.Rules, call *mcp.Call) (*mcp.Target, error) {
	r := &round{d: d, rules: rules, call: call, required: &noRequirements}
	r.target = mcp.Target{Backend: call.Backend, Known: call.Backend != "", Repeatable: call.Method.Repeatable(), Handle: r}
	if err := r.resolve(ctx); err != nil {
		r.spendUnconfirmed(ctx)
		return &r.target, r.maskRefusal(ctx, err)
	}
	return &r.target, nil
}

func (r *round) resolve(ctx context.Context) error {
	if given := r.call.Params.More().Context; r.call.Method == mcp.MethodComplete && len(given) > 0 {
		if err := r.survey("params.context", given); err != nil {
			return err
		}
	}
	r.malformed = r.unwrap()
	err := r.d.catalog.Resolve(ctx, r.rules, r.call, &r.named)
	t := &r.named
	if disabled := t.DisabledVia(r.call.Params.Via()); disabled != nil {
		return r.refuseDisabled(ctx, disabled)
	}
	if err != nil {
		return r.malformedOr(err)
	}
	bound := r.call.Backend != ""
	switch {
	case t.Own:
		r.permitUndecided(ctx)
		return r.resolveOwn(ctx)
	case r.call.Params.Wrapped != nil && !bound && !t.HasOwn(r.call.Params.Via()):
		return settingsChanged()
	case t.Backend == nil:
		r.permitUndecided(ctx)
		return r.malformed
	}
	r.target.Backend, r.target.Known = t.Backend.Name(), t.Tool != nil || t.Prompt != nil
	r.rename()
	var refused error
	var trials []mcp.Trial
	switch {
	case t.Tool != nil:
		r.target.Tasks, r.target.Repeatable = t.Tool.Support(), t.Tool.Repeatable()
		if t.Tool.MayWait() && r.d.replacesRequests() { // With other arguments it may have to wait, which only a task can.
			r.target.Tasks.AtOnce = true
		}
		canonical := func(args []byte) ([]byte, error) { return t.Backend.Canonical(t.Tool.Proto.GetName(), args) }
		trials = r.tryPins(t.Tool.Trials, bound, canonical)
		refused = r.curate(t.Tool.Arguments, bound, canonical)
		r.forTool(t.Tool)
	case t.Prompt != nil && t.Completion == nil:
		trials = r.tryPins(t.Prompt.Trials, bound, nil)
		refused = r.curate(t.Prompt.Arguments, bound, func(args []byte) ([]byte, error) { return args, nil })
		r.forPrompt()
	}
	if refused != nil {
		r.unread = refused // rules cannot read refused arguments
	}
	if err := r.decide(ctx); err != nil {
		return err
	}
	if disabled := t.Disabled(); disabled != nil {
		return r.refuseDisabled(ctx, disabled)
	}
	if err := r.findRequirements(ctx); err != nil {
		return err
	}
	if t.Away {
		return r.malformedOr(t.Unavailable())
	}
	if r.malformed != nil {
		return r.malformed
	}
	if refused == nil && !bound && r.call.Params.Wrapped != nil {
		r.rejectOwnArguments(t.ListedOnly())
	}
	if refused == nil {
		for _, trial := range trials {
			r.d.opts.Telemetry.RecordTrial(ctx, trial)
		}
	}
	return refused
}

// refuseDisabled records that a request for a disabled object is refused, and returns the error.
func (r *round) refuseDisabled(ctx context.Context, disabled *mcp.Error) error {
	if decider := r.decider(); decider != nil {
		return decider.Disabled(ctx, r.call, r.target.Backend, disabled)
	}
	return disabled
}

// rename replaces the name of a tool or prompt by the canonical one.
func (r *round) rename() {
	params, name := &r.call.Params, r.named.Policy.Name
	switch c := r.named.Completion; {
	case r.call.Method == mcp.MethodToolsCall || r.call.Method == mcp.MethodPromptsGet:
		if params.Target != name || params.Wrapped != nil && r.call.Backend == "" { // A bound call has the canonical name, and is not written to.
			params.Target, r.call.Backend = name, r.named.Backend.Name()
		}
	case c != nil && c.Prompt && c.Target != name:
		params.RenameRef(name)
		r.call.Backend = r.named.Backend.Name()
	}
}

// decide applies rules and scopes to the target. If the target is hidden from the caller, the error
// is that of an unknown name, and a watch opens once the object exists for the caller.
func (r *round) decide(ctx context.Context) error {
	decider := r.decider()
	if decider == nil {
		return nil
	}
	var err error
	r.allowed, err = decider.Decide(ctx, r.rules, r.call, r.named.Policy, r.policyArguments())
	switch {
	case !errors.Is(err, policy.ErrHidden):
		return err
	case r.call.Method == mcp.MethodSubscribe:
		r.named.Backend, r.target.Backend = nil, ""
		r.permitUndecided(ctx)
		return nil
	}
	unknown := *r.named.Unknown() // which may be shared
	unknown.Reason = err.Error()
	return &unknown
}

// policyArguments returns the arguments that rules may inspect.
func (r *round) policyArguments() policy.Arguments {
	switch {
	case r.named.Completion != nil:
		return chosen(r.named.Completion)
	case r.call.Method == mcp.MethodToolsCall, r.call.Method == mcp.MethodPromptsGet:
		return r.toolArguments
	}
	return noneGiven
}
