package catalog

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Target is the object that the request of one round names, as its caller sees it. The zero value
// is ready for Resolve, after which it is not changed.
type Target struct {
	view   *View
	method mcp.Method
	// name is the one that the request has, shown the one that errors have.
	name, shown string
	// pins are the caller's values of the view's pins. nil means none.
	pins *[]string

	// Access decides about the object, of the same generation of settings as the rest of the target.
	// nil allows everything.
	Access Visibility
	// Backend owns the object. nil means that the request names no object that exists for the
	// caller.
	Backend *backend.Backend
	// Policy is the input of policy rules. It is set if Backend is.
	Policy *policy.Target
	// Tool is the tool of tools/call, and Prompt the prompt of prompts/get or of a completion. nil
	// means none.
	Tool   *Tool
	Prompt *Prompt
	// URI locates the URI of a request about a resource, a skill or a directory. nil means another
	// request, or an object that does not exist.
	URI *Located
	// Completion is the request of completion/complete. Template is the template to which it
	// refers; nil means a plain URI. Completes is true if the backend supports completion.
	Completion *translate.Completion
	Template   *Template
	Completes  bool
	// Away is true if the backend cannot be reached now, or its list is not known.
	Away bool
	// Own means that the request is a call of one of the edge's own tools. Then Backend is nil.
	Own bool
}

// Resolve looks up the object that a request names, once. It reads the lists of the backends that
// may have the object. It returns a *mcp.Error that answers the request. A resources/subscribe of a
// missing resource is not an error: the watch opens when the resource appears.
func (c *Catalog) Resolve(ctx context.Context, rules *revision.Rules, call *mcp.Call, t *Target) error {
	err := c.resolve(ctx, rules, call, t)
	if t.Policy != nil && call.Set != "" {
		t.Policy = t.view.policyIn(call.Set, t.Policy)
	}
	return err
}

// policyIn returns a policy target with the name of the view's set.
func (v *View) policyIn(set string, of *policy.Target) *policy.Target {
	if known := v.inSet[of]; known != nil {
		return known
	}
	own := *of
	own.Set = set
	return &own
}

func (c *Catalog) resolve(ctx context.Context, rules *revision.Rules, call *mcp.Call, t *Target) error {
	t.method, t.name = call.Method, call.Params.Target
	if err := c.awaitOwner(ctx, call.Backend); err != nil {
		return err
	}
	var err error
	t.shown = call.Params.Sent.Target
	if t.view, err = c.views.forCall(ctx, call); err != nil {
		return err
	}
	t.Access = t.view.access
	if call.Backend != "" && call.Params.Shown() == "" {
		t.shown = t.view.shownName(call)
	}
	switch features := &t.view.Features; {
	case call.Method == mcp.MethodToolsCall:
		return c.resolveTool(call, t)
	case call.Method == mcp.MethodPromptsGet:
		return c.resolvePrompt(call, t)
	case call.Method == mcp.MethodComplete:
		return c.resolveCompletion(rules, call, t)
	case call.Method == mcp.MethodSubscribe:
		c.locate(call, t)
	case call.Method == mcp.MethodResourcesRead:
		return c.resolveURI(call, t, features.Resources, "name the resource to read")
	case !rules.Stateless: // the skills extension requires a stateless revision
	case call.Method == mcp.MethodSkillsGet:
		return c.resolveURI(call, t, features.Skills, "name the skill")
	case call.Method == mcp.MethodDirectoryRead:
		return c.resolveURI(call, t, features.Directories, "name the directory")
	}
	return nil
}

// awaitOwner waits until the backend to which a call is bound was tried once, because this replica
// may have taken over the call before it had its backends' lists. It fails only when ctx ends.
func (c *Catalog) awaitOwner(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	for _, b := range c.views.backends() {
		if b.Name() != name || b.Tried() {
			continue
		}
		if err := b.AwaitTried(ctx); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return c.Settle(ctx)
	}
	return nil
}

// resolveTool resolves tools/call.
func (c *Catalog) resolveTool(call *mcp.Call, t *Target) error {
	one := t.view.toolOf(call)
	switch {
	case t.view.set != nil && t.HasOwn(call.Params.Target) && t.view.callsOwn(call):
		t.Own = true
		return nil
	case one != nil:
		t.Tool, t.Backend, t.Policy = one, one.Owner, &one.Target
		return nil
	case call.Backend != "" && !t.view.hides(listTools, call):
		return goneError(call)
	case !t.view.Features.Tools:
		return t.NotServed()
	case !call.Params.HasTarget:
		return mcp.Errorf(mcp.KindInvalidParams, "params.name is missing or not a string: name the tool to call")
	}
	return c.reserved(t, t.view.Tools.reserved[t.name], policy.Tool)
}

// Cancellable returns the tool with which a bound call began, even if the tool is now hidden or no
// longer in the set. It returns nil if there is none. t must have been resolved for the call,
// successfully or not.
func (t *Target) Cancellable(call *mcp.Call) *Tool {
	if t.Tool != nil || t.view == nil {
		return t.Tool
	}
	own, tools := canonicalName{call.Backend, call.Params.Target}, t.view.Tools
	if whole := t.view.whole; whole != nil {
		if tools = whole.Tools; tools.byCanonical[own] != nil {
			return tools.byCanonical[own]
		}
	}
	return tools.hidden[own].tool
}

// resolvePrompt resolves prompts/get.
func (c *Catalog) resolvePrompt(call *mcp.Call, t *Target) error {
	switch {
	case !t.view.Features.Prompts:
		return t.NotServed()
	case !call.Params.HasTarget:
		return mcp.Errorf(mcp.KindInvalidParams, "params.name is missing or not a string: name the prompt to get")
	}
	if p := t.view.promptOf(call, t.name); p != nil {
		t.Prompt, t.Backend, t.Policy = p, p.Owner, &p.target
		return nil
	}
	if call.Backend != "" && !t.view.hides(listPrompts, call) {
		return goneError(call)
	}
	return c.reserved(t, t.view.Prompts.reserved[t.name], policy.Prompt)
}

// resolveCompletion resolves completion/complete, which refers to a prompt, a template or a URI.
func (c *Catalog) resolveCompletion(rules *revision.Rules, call *mcp.Call, t *Target) error {
	if !t.view.Features.Completions {
		return t.NotServed()
	}
	asked, err := translate.ParseCompletion(rules, call)
	if err != nil {
		return err
	}
	t.Completion = &asked
	if asked.Prompt {
		p := t.view.promptOf(call, asked.Target)
		if p == nil && call.Backend != "" {
			return goneError(call)
		}
		if p == nil {
			return c.reserved(t, t.view.Prompts.reserved[asked.Target], policy.Prompt)
		}
		target := p.target
		target.Method = call.Method
		t.Prompt, t.Backend, t.Policy, t.Completes = p, p.Owner, &target, canCompletePrompts(t.view.catalog(p.Owner))
		return nil
	}
	t.pin(t.view.Resources.pinned.valuesFor(&call.Principal))
	t.Template = t.view.Resources.templateFor(asked.Target, t.values())
	target, owner := t.view.Resources.completed(asked.Target, t.Template)
	if owner == nil || t.Template == nil && (t.view.outside(owner, target.Name, 1) || t.view.Resources.pinsDeny(owner, target.Name, 1, t.values())) {
		return t.Unknown()
	}
	t.Backend, t.Policy = owner, &target
	if t.Template != nil {
		t.Away, t.Completes = t.view.owners.isAway(owner), canCompleteTemplates(t.view.catalog(owner))
	}
	return nil
}

// resolveURI resolves a request that names a URI. what is the advice in the error for a missing
// URI.
func (c *Catalog) resolveURI(call *mcp.Call, t *Target, served bool, what string) error {
	switch {
	case !served && (call.Params.Wrapped == nil || t.view.Incomplete()): // A tool that is listed exists.
		return t.NotServed()
	case !call.Params.HasTarget || t.name == "":
		return mcp.Errorf(mcp.KindInvalidParams, "params.uri is missing or not a string: %s", what)
	case c.locate(call, t):
	case call.Backend != "" && t.view.ownerOf(call, t.name, c.report) == nil:
		return goneError(call)
	default:
		return t.Unknown()
	}
	if t.view.owners.isAway(t.Backend) {
		return c.unlisted(t, t.Backend, policy.Resource, t.URI.Sent)
	}
	return nil
}

// locate resolves the URI of a request. It returns false if no backend has it.
func (c *Catalog) locate(call *mcp.Call, t *Target) bool {
	found, ok := t.view.locate(call, t.name, c.report)
	if ok {
		target := found.target(call.Method)
		t.URI, t.Backend, t.Policy = &found, found.owner, &target
		t.pin(found.values)
	}
	return ok
}

// reserved resolves a name that no reachable backend lists, by its reservation. The zero r means
// that there is none.
func (c *Catalog) reserved(t *Target, r reserved, kind policy.Kind) error {
	return c.unlisted(t, r.owner, kind, r.name)
}

// unlisted resolves a name that no reachable backend lists. It is the name of owner, which is away,
// or, if owner is nil, unknown. A name that its backend showed only to some callers is unknown to
// every caller while the backend is away, because the backend cannot be asked which callers may see
// it.
func (c *Catalog) unlisted(t *Target, owner *backend.Backend, kind policy.Kind, name string) error {
	if owner == nil || c.personal(owner, kind, name) {
		t.Backend, t.Policy = nil, nil
		return t.Unknown()
	}
	target := policy.Target{Kind: kind, Method: t.method, Name: name, Backend: owner.Name()}
	if kind == policy.Tool {
		target.Hints = HintsOf(nil)
	}
	t.Backend, t.Policy, t.Away = owner, &target, true
	return nil
}

// Unavailable is the error of a request whose target's backend is away.
func (t *Target) Unavailable() *mcp.Error {
	return mcp.Errorf(mcp.KindUnavailable, "it belongs to the backend %q, which cannot be reached now: try again later", t.Backend.Name())
}

// goneError is the error of a call whose backend is away, or no longer has the named object. The call's
// state and the client's answers are never sent to another backend.
func goneError(call *mcp.Call) *mcp.Error {
	return mcp.Errorf(mcp.KindUnavailable, "the call is bound to the backend %q, which cannot continue it now: try again later, or start the call again",
		Clip(call.Backend))
}

// Unknown is the error of a request whose target does not exist, or must appear not to exist.
func (t *Target) Unknown() *mcp.Error {
	switch {
	case t.view.failed != nil:
		return mcp.AsError(t.view.failed)
	case t.method == mcp.MethodToolsCall && t.view.search != nil:
		return mcp.Errorf(mcp.KindUnknownTool, "unknown tool %q: %s finds those that exist", Clip(t.shown), mcp.ToolFind)
	case t.method == mcp.MethodToolsCall:
		return mcp.Errorf(mcp.KindUnknownTool, "unknown tool %q: tools/list names those that exist", Clip(t.shown))
	case t.method == mcp.MethodPromptsGet:
		return mcp.Errorf(mcp.KindUnknownPrompt, "unknown prompt %q: prompts/list names those that exist", Clip(t.shown))
	case t.Completion == nil:
		return NotFound(t.name)
	case t.Completion.Prompt:
		return mcp.Errorf(mcp.KindInvalidParams, "params.ref names the prompt %q, which does not exist", Clip(t.Completion.Target))
	}
	return mcp.Errorf(mcp.KindInvalidParams, "params.ref names the resource template %q, which does not exist", Clip(t.Completion.Target))
}

// NotFound is the error of a resource that does not exist. Its data contains the URI, as the
// specification requires.
func NotFound(uri string) *mcp.Error {
	data := append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}')
	return &mcp.Error{
		Kind:    mcp.KindResourceNotFound,
		Message: "resource " + string(jsonrpc.AppendString(nil, Clip(uri))) + " not found: no backend answers for it",
		Data:    json.RawMessage(data),
	}
}

// NotServed returns the error for a method whose feature no reachable backend serves.
func (t *Target) NotServed() *mcp.Error {
	switch {
	case t.view.failed != nil:
		return mcp.AsError(t.view.failed)
	case t.view.Incomplete():
		return mcp.Errorf(mcp.KindUnavailable,
			"no backend can be asked for %s now: a backend is down, or its list cannot be read; try again later", t.method)
	}
	return mcp.Errorf(mcp.KindMethodNotFound, "no backend serves %s", t.method)
}

// Others are all backends except one, as one caller sees them. It is immutable.
type Others struct {
	report *reporter
	view   *View
	rank   int
}

// Others returns all backends except the target's, after reading all their lists. It fails if the
// target's backend is no longer configured, or when ctx ends.
func (c *Catalog) Others(ctx context.Context, who mcp.Principal, t *Target) (*Others, error) {
	v, err := c.views.Of(ctx, "", who)
	if err != nil {
		return nil, err
	}
	rank := slices.IndexFunc(v.Parts, func(p part) bool { return p.Backend == t.Backend })
	if rank < 0 {
		return nil, t.Unknown()
	}
	return &Others{c.report, v, rank}, nil
}

// Entry returns the policy target of one of several URIs that the target's backend returned for the
// request. of is their number.
func (t *Target) Entry(method mcp.Method, uri string, of int) policy.Target {
	target := t.view.Resources.entryTarget(method, uri, t.Backend, of)
	target.IsListed = t.view.Resources.lists(uri, t.Backend)
	target.Set = t.Policy.Set
	return target
}

// Own reports whether one of the backends owns a URI.
func (o *Others) Own(uri string) bool {
	_, foreign := o.view.Resources.belongs(uri, o.rank)
	return foreign
}

// OwnFileOf reports whether one of the backends owns a file of a skill, and logs it.
func (o *Others) OwnFileOf(x *pb.Skill) bool {
	kept := o.view.Resources.foreign(x, o.rank)
	if kept == "" {
		return false
	}
	o.report.conflict(Conflict{What: "skill", Key: x.GetUri(), Kept: kept, Dropped: o.view.Parts[o.rank].Backend.Name()})
	return true
}

// Current reports whether the catalog still changes entries, and has sets, as it did when t was
// resolved.
func (t *Target) Current(c *Catalog) bool {
	return t.view.overlay == c.views.overlay.Load() && t.view.sets == c.views.sets.Load()
}

// KnownTool returns a backend's tool by its canonical name from the cached view of the root, without
// asking backends, or nil, and what decides about it.
func (c *Catalog) KnownTool(who mcp.Principal, backend, name string) (*Tool, Visibility) {
	v := c.views.known("", who)
	return v.Tools.byCanonical[canonicalName{backend, name}], v.access
}

// Broken logs a contract violation of a backend, once for each message.
func (c *Catalog) Broken(backend string, method mcp.Method, message string) {
	c.report.once("broken\x00"+backend+"\x00"+message, "a backend broke the contract", "backend", backend, "method", string(method), "error", message)
}
