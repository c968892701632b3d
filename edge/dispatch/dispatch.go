package dispatch

import (
	"context"
	"log/slog"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// Options are the settings of a Dispatch. Zero values stand for the defaults named.
type Options struct {
	// Catalog are the settings of what is served. Its Visibility is Access, and its Logger is Logger unless it has one.
	Catalog catalog.Options
	// ArgumentValues bounds the values in a call's arguments, counting objects, arrays and what is in them;
	// 0: 50,000.
	ArgumentValues int
	// Access decides which calls may be made; nil: all.
	Access Access
	// Telemetry observes the backends' calls; nil: nothing does.
	Telemetry *telemetry.Telemetry
	// Logger hears of broken contracts, each once; nil: slog.Default().
	Logger *slog.Logger
}

const defaultArguments = 50_000

// Access decides which calls may be made. Safe for concurrent use.
type Access interface {
	catalog.Visibility
	// Decide is the first stage of the decision on a round, by rules and scopes, on what a request names, which exists. It does not
	// block. rule is the name of the policy's rule that permits it; empty: there is no policy. An error is the request's: a
	// *mcp.Error, that of args, or policy.ErrHidden, if the request ends as if nothing of the name existed.
	Decide(ctx context.Context, rules *revision.Rules, call *mcp.Call, t *policy.Target, args policy.Arguments) (rule string, err error)
	// Admit is the second stage, by the policy server and by quotas, which may block. rule is what Decide returned. backend is that
	// of what the request names; empty: it does not exist for the caller. An error, a *mcp.Error, is the request's: it is not made.
	Admit(ctx context.Context, rules *revision.Rules, call *mcp.Call, backend, rule string) error
	// DecideTask is both stages for a request about a task, whose tool is the target.
	DecideTask(ctx context.Context, rules *revision.Rules, call *mcp.Call, task *mcp.TaskCall, t *policy.Target, args policy.Arguments) error
	// Restricts says whether Decide may refuse to one caller what another one may do: what came of it is nothing to share between them.
	Restricts() bool
	// Lacking completes an error by which the backend of a call asks for the scopes of its Challenge: it may change e.
	Lacking(rules *revision.Rules, call *mcp.Call, e *mcp.Error)
}

// Dispatch runs the rounds of requests at the backends of a pool. Safe for concurrent use. It has no goroutine at
// rest and needs no closing: it ends with the pool and its feeds.
type Dispatch struct {
	opts    Options
	catalog *catalog.Catalog
	server  *translate.Server
	sizes   sizes
}

// New makes a Dispatch over a pool, started or not. The pool stays the caller's to close.
func New(pool *backend.Pool, opts Options) *Dispatch {
	if opts.ArgumentValues <= 0 {
		opts.ArgumentValues = defaultArguments
	}
	if opts.Catalog.Logger == nil {
		opts.Catalog.Logger = opts.Logger
	}
	if opts.Access != nil {
		opts.Catalog.Visibility = opts.Access
	}
	d := &Dispatch{opts: opts}
	pool.OnChange(func(b *backend.Backend, _ backend.Kinds) { d.sizes.changed(b, pool.Backends()) })
	d.catalog = catalog.New(pool, opts.Catalog)
	d.server = d.catalog.Server()
	return d
}

// Describe implements the eras' Dispatcher.
func (d *Dispatch) Describe(ctx context.Context, rules *revision.Rules, p mcp.Principal) mcp.Description {
	return d.catalog.Describe(ctx, rules, p)
}

// Changes implements the eras' Dispatcher.
func (d *Dispatch) Changes(ctx context.Context, p mcp.Principal, f mcp.Filter) (mcp.Feed, error) {
	return d.catalog.Changes(ctx, p, f)
}

// Catalog is what is served.
func (d *Dispatch) Catalog() *catalog.Catalog {
	return d.catalog
}

// Call runs one round of a request, which it resolves unless call.Target says that it was. It implements the eras' Dispatcher; errors are
// *mcp.Error.
func (d *Dispatch) Call(ctx context.Context, rules *revision.Rules, call *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
	t := call.Target
	if t == nil || t.Handle == nil {
		var err error
		if t, err = d.Resolve(ctx, rules, call); err != nil {
			return mcp.Reply{}, err
		}
	}
	r := t.Handle.(*round)
	r.take(call)
	r.sink = sink
	reply, err := r.run(ctx)
	r.settle(&reply)
	if r.owner != nil {
		r.observe(ctx, &reply, err)
	}
	return reply, err
}

func (r *round) run(ctx context.Context) (mcp.Reply, error) {
	switch {
	case r.call.Method == mcp.MethodToolsCall:
		return r.callTool(ctx)
	case r.call.Method == mcp.MethodResourcesRead:
		return r.readResource(ctx)
	case r.call.Method == mcp.MethodPromptsGet:
		return r.getPrompt(ctx)
	case r.call.Method == mcp.MethodComplete:
		return r.complete(ctx)
	case r.call.Method == mcp.MethodSubscribe:
		return mcp.Reply{}, r.admitted(ctx)
	case !r.rules.Stateless: // the extension of skills is for revisions without sessions
	case r.call.Method == mcp.MethodSkillsGet:
		return r.getSkill(ctx)
	case r.call.Method == mcp.MethodDirectoryRead:
		return r.readDirectory(ctx)
	}
	return r.d.catalog.List(&r.named, r.rules, r.call)
}
