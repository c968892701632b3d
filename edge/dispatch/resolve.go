package dispatch

import (
	"context"
	"errors"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// Resolve implements the eras' Dispatcher: it looks up what a request names, has its arguments as the backend reads them, and decides by
// rules and scopes. What Call does with the target looks nothing up again.
func (d *Dispatch) Resolve(ctx context.Context, rules *revision.Rules, call *mcp.Call) (*mcp.Target, error) {
	r := &round{d: d, rules: rules, call: call}
	r.target = mcp.Target{Backend: call.Backend, Known: call.Backend != "", Repeatable: call.Method.Repeatable(), Handle: r}
	var err error
	if r.view, err = d.views.forCall(ctx, call); err != nil {
		return &r.target, err
	}
	return &r.target, r.resolve(ctx)
}

// take makes a resolved round that of a call, which has the params that were resolved.
func (r *round) take(call *mcp.Call) {
	resolved := r.call
	r.call, r.misfits = withOwnState(call)
	if r.rewritten {
		own := *r.call
		own.Params.Arguments, own.Params.Raw = resolved.Params.Arguments, resolved.Params.Raw
		r.call = &own
	}
}

func (r *round) resolve(ctx context.Context) error {
	switch r.call.Method {
	case mcp.MethodToolsCall:
		return r.resolveTool(ctx)
	case mcp.MethodPromptsGet:
		return r.resolvePrompt(ctx)
	case mcp.MethodComplete:
		return r.resolveCompletion(ctx)
	case mcp.MethodResourcesRead:
		return r.resolveURI(ctx, r.view.features.Resources, "name the resource to read")
	case mcp.MethodSubscribe:
		return r.resolveWatch(ctx)
	}
	if !r.rules.Stateless { // the extension of skills is for revisions without sessions
		return nil
	}
	switch r.call.Method {
	case mcp.MethodSkillsGet:
		return r.resolveURI(ctx, r.view.features.Skills, "name the skill")
	case mcp.MethodDirectoryRead:
		return r.resolveURI(ctx, r.view.features.Directories, "name the directory")
	}
	return nil
}

// decide decides by rules and scopes on what the request names. To those from whom it is hidden it does not exist.
func (r *round) decide(ctx context.Context, t *policy.Target, args policy.Arguments) error {
	if r.d.opts.Access == nil {
		return nil
	}
	err := r.d.opts.Access.Decide(ctx, r.rules, r.call, t, args)
	if errors.Is(err, policy.ErrHidden) {
		return r.unknown()
	}
	return err
}

// unknown is the error of a request whose target does not exist for the caller.
func (r *round) unknown() *mcp.Error {
	name := r.call.Params.Target
	switch {
	case r.view.failed != nil:
		return mcp.AsError(r.view.failed)
	case r.call.Method == mcp.MethodToolsCall:
		return mcp.Errorf(mcp.KindUnknownTool, "unknown tool %q: tools/list names those that exist", clip(name))
	case r.call.Method == mcp.MethodPromptsGet:
		return mcp.Errorf(mcp.KindUnknownPrompt, "unknown prompt %q: prompts/list names those that exist", clip(name))
	case r.completion == nil:
		return resourceNotFound(name)
	case r.completion.Prompt:
		return mcp.Errorf(mcp.KindInvalidParams, "params.ref names the prompt %q, which does not exist", clip(r.completion.Target))
	}
	return mcp.Errorf(mcp.KindInvalidParams, "params.ref names the resource template %q, which does not exist", clip(r.completion.Target))
}

// resolveTool is for tools/call.
func (r *round) resolveTool(ctx context.Context) error {
	name := r.call.Params.Target
	t := r.view.toolOf(r.call)
	switch {
	case t != nil:
	case r.call.Backend != "":
		return r.gone()
	case !r.view.features.Tools:
		return r.notServed()
	case !r.call.Params.HasTarget:
		return mcp.Errorf(mcp.KindInvalidParams, "params.name is missing or no string: name the tool to call")
	case r.view.tools.reserved[name] != nil:
		return r.reserved(ctx, r.view.tools.reserved[name], policy.Tool, name, r.toolArguments)
	default:
		return r.unknown()
	}
	r.tool = t
	r.target.Backend, r.target.Known, r.target.Tasks, r.target.Repeatable = t.owner.Name(), true, t.tasks, t.repeatable()
	r.forTool(t)
	if r.d.opts.Access == nil {
		return nil
	}
	return r.decide(ctx, &t.target, r.toolArguments)
}

// resolvePrompt is for prompts/get.
func (r *round) resolvePrompt(ctx context.Context) error {
	name := r.call.Params.Target
	switch {
	case !r.view.features.Prompts:
		return r.notServed()
	case !r.call.Params.HasTarget:
		return mcp.Errorf(mcp.KindInvalidParams, "params.name is missing or no string: name the prompt to get")
	}
	p := r.view.promptOf(r.call, name)
	if p == nil {
		return r.noPrompt(ctx, name, r.toolArguments)
	}
	r.prompt = p
	r.target.Backend, r.target.Known = p.owner.Name(), true
	r.forPrompt()
	if r.d.opts.Access == nil {
		return nil
	}
	return r.decide(ctx, &p.target, r.toolArguments)
}

// noPrompt is why there is no prompt of a name now: its backend is away, or nobody has it.
func (r *round) noPrompt(ctx context.Context, name string, args policy.Arguments) error {
	if r.call.Backend != "" {
		return r.gone()
	}
	if owner := r.view.prompts.reserved[name]; owner != nil {
		return r.reserved(ctx, owner, policy.Prompt, name, args)
	}
	return r.unknown()
}

// resolveCompletion is for completion/complete, whose reference is a prompt, a template or a URI.
func (r *round) resolveCompletion(ctx context.Context) error {
	if !r.view.features.Completions {
		return r.notServed()
	}
	if given := r.call.Params.Context; len(given) > 0 {
		if err := r.survey("params.context", given); err != nil {
			return err
		}
	}
	c, err := translate.ParseCompletion(r.rules, r.call)
	if err != nil {
		return err
	}
	r.completion = &c
	if c.Prompt {
		p := r.view.prompts.byName[c.Target]
		if p == nil {
			return r.noPrompt(ctx, c.Target, chosen(&c))
		}
		r.prompt, r.target.Backend = p, p.owner.Name()
		target := p.target
		target.Method = r.call.Method
		return r.decide(ctx, &target, chosen(&c))
	}
	target, ok := r.view.resources.completed(c.Target)
	if !ok {
		return r.unknown()
	}
	r.template, r.target.Backend = r.view.resources.template(c.Target), target.Backend // no template for a plain URI
	return r.decide(ctx, &target, chosen(&c))
}

// resolveURI is for what is about a URI. what says how the request names it.
func (r *round) resolveURI(ctx context.Context, served bool, what string) error {
	uri := r.call.Params.Target
	switch {
	case !served:
		return r.notServed()
	case !r.call.Params.HasTarget || uri == "":
		return mcp.Errorf(mcp.KindInvalidParams, "params.uri is missing or no string: %s", what)
	}
	found, ok := r.view.locate(r.call, uri, r.d.report)
	switch {
	case !ok && r.call.Backend != "":
		return r.gone()
	case !ok:
		return r.unknown()
	case r.view.owners.isAway(found.owner):
		return r.reserved(ctx, found.owner, policy.Resource, found.sent, noneGiven)
	}
	r.found = found
	r.target.Backend = found.owner.Name()
	if r.d.opts.Access == nil {
		return nil
	}
	target := found.target(r.call.Method)
	return r.decide(ctx, &target, noneGiven)
}

// resolveWatch is for resources/subscribe. What does not exist for the caller is no error: the watch opens when it does, without another
// question.
func (r *round) resolveWatch(ctx context.Context) error {
	if r.d.opts.Access == nil {
		return nil
	}
	found, ok := r.view.locate(r.call, r.call.Params.Target, r.d.report)
	if !ok {
		return nil
	}
	target := found.target(r.call.Method)
	err := r.d.opts.Access.Decide(ctx, r.rules, r.call, &target, noneGiven)
	if errors.Is(err, policy.ErrHidden) {
		return nil
	}
	r.target.Backend = found.owner.Name()
	return err
}
