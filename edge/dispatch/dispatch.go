package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/dispatch/changes"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Options are the settings of a Dispatch. Zero values stand for the defaults named.
type Options struct {
	// Name and Version are the edge's own serverInfo; empty: "mcpedge" and "unversioned". Backends
	// never show through it, not even a single one: clients compare it across reconnects.
	Name, Version string
	// Title, Description and WebsiteURL complete serverInfo; empty: left out.
	Title, Description, WebsiteURL string
	// PageSize bounds the entries of a list's page; 0: 1,000. Clients are in use that read the first page alone.
	PageSize int
	// PageBytes bounds the rendered entries of a page, in bytes; a larger single entry gets a page of
	// its own; 0: 1 MiB.
	PageBytes  int
	schemaWork int // see showing
	// Jitter is the most that a list's change notification is held back, so that clients do not all
	// list at once; 0: 50 ms; negative: none.
	Jitter time.Duration
	// PrivateViews bounds the views kept for callers whose lists are their own; 0: 256.
	PrivateViews int
	// ArgumentValues bounds the values in a call's arguments, counting objects, arrays and what is in them;
	// 0: 50,000.
	ArgumentValues int
	// WatchedURIs bounds the resources of one feed; those beyond it are not honoured; 0: 256.
	WatchedURIs int
	// Access decides which calls may be made; nil: all.
	Access Access
	// Names remembers what backends listed last, for while they are away; nil: in this process.
	Names *ownership.Registry
	// Telemetry observes the backends' calls; nil: nothing does.
	Telemetry *telemetry.Telemetry
	// Logger hears of conflicts and broken contracts, each once; nil: slog.Default().
	Logger *slog.Logger
}

const (
	defaultPageSize     = 1000
	defaultArguments    = 50_000
	defaultPageBytes    = 1 << 20
	defaultJitter       = 50 * time.Millisecond
	defaultPrivateViews = 256
	defaultWatchedURIs  = 256
)

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "mcpedge"
	}
	if o.Version == "" {
		o.Version = "unversioned"
	}
	if o.PageSize <= 0 {
		o.PageSize = defaultPageSize
	}
	if o.PageBytes <= 0 {
		o.PageBytes = defaultPageBytes
	}
	if o.ArgumentValues <= 0 {
		o.ArgumentValues = defaultArguments
	}
	if o.Jitter == 0 {
		o.Jitter = defaultJitter
	}
	if o.PrivateViews <= 0 {
		o.PrivateViews = defaultPrivateViews
	}
	if o.WatchedURIs <= 0 {
		o.WatchedURIs = defaultWatchedURIs
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Access decides which calls may be made, and what is listed. Safe for concurrent use.
type Access interface {
	// Decide is the first stage of the decision on a round, by rules and scopes: about what a request names, which exists. It waits for
	// nobody. An error is the request's: a *mcp.Error, that of args, or policy.ErrHidden, if it is to end as if nothing of the name existed.
	Decide(ctx context.Context, rules *revision.Rules, call *mcp.Call, t *policy.Target, args policy.Arguments) error
	// Admit is the second stage, by the policy server and by quotas, which may take long. backend is that of what the request names; empty:
	// it does not exist for the caller. An error, a *mcp.Error, is the request's: it is not made.
	Admit(ctx context.Context, rules *revision.Rules, call *mcp.Call, backend string) error
	// DecideTask is both stages for a request about a task, whose tool is the target.
	DecideTask(ctx context.Context, rules *revision.Rules, call *mcp.Call, task *mcp.TaskCall, t *policy.Target, args policy.Arguments) error
	// Restricts says whether Decide may refuse to one caller what another one may do: what came of it is nothing to share between them.
	Restricts() bool
	// May says whether a caller may do something that has no arguments. Nothing is counted.
	May(who *mcp.Principal, t *policy.Target) bool
	// Lists gives what decides on the lists of a caller: callers with the same entitlement see the same of the same entries.
	// It is the same on every replica. listed nil: every caller sees every entry.
	Lists(who *mcp.Principal) (entitlement string, listed func(*policy.Target) bool)
	// Lacking completes an error by which the backend of a call asks for the scopes of its Challenge: it may change e.
	Lacking(rules *revision.Rules, call *mcp.Call, e *mcp.Error)
}

// Dispatch serves requests from a pool of backends. Safe for concurrent use. It has no goroutine at
// rest and needs no closing: it ends with the pool and its feeds.
type Dispatch struct {
	opts   Options
	server *translate.Server
	report *reporter
	views  *views
	hub    *changes.Hub
	sizes  sizes
}

// New makes a Dispatch over a pool, started or not. The pool stays the caller's to close.
func New(pool *backend.Pool, opts Options) *Dispatch {
	opts = opts.withDefaults()
	d := &Dispatch{
		opts: opts,
		server: translate.NewServer(&pb.Implementation{
			Name: opts.Name, Version: opts.Version, Title: opts.Title,
			Description: opts.Description, WebsiteUrl: opts.WebsiteURL,
		}),
		report: &reporter{log: opts.Logger},
	}
	if opts.Names == nil {
		d.opts.Names = ownership.New(ownership.Options{Logger: opts.Logger})
	}
	d.views = newViews(pool.Backends, d.opts.Names, opts.PrivateViews, d.report, showing{work: opts.schemaWork})
	d.hub = changes.New(source{d.views, d.report, opts.Access}, changes.Options{
		Jitter: opts.Jitter, WatchedURIs: opts.WatchedURIs, Logger: opts.Logger,
	})
	d.opts.Names.OnChange(func() { d.hub.Changed(0) })
	pool.OnChange(func(b *backend.Backend, kinds backend.Kinds) {
		d.sizes.changed(b, pool.Backends())
		d.hub.Changed(kinds)
	})
	// A backend may have been listed between the first view and the registration.
	d.hub.Changed(allKinds)
	return d
}

// Call runs one round of a request, which it resolves unless call.Target says that it was. It implements the eras' Dispatcher; errors are
// *mcp.Error.
func (d *Dispatch) Call(ctx context.Context, rules *revision.Rules, call *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
	t := call.Target
	if t == nil {
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
	v := r.view
	switch call := r.call; call.Method {
	case mcp.MethodToolsCall:
		return r.callTool(ctx)
	case mcp.MethodResourcesRead:
		return r.readResource(ctx)
	case mcp.MethodPromptsGet:
		return r.getPrompt(ctx)
	case mcp.MethodComplete:
		return r.complete(ctx)
	case mcp.MethodSubscribe:
		return mcp.Reply{}, r.admitted(ctx, r.target.Backend)
	case mcp.MethodToolsList:
		return r.list(v.features.Tools, listTools)
	case mcp.MethodResourcesList:
		return r.list(v.features.Resources, listResources)
	case mcp.MethodTemplatesList:
		return r.list(v.features.Resources, listTemplates)
	case mcp.MethodPromptsList:
		return r.list(v.features.Prompts, listPrompts)
	}
	if r.rules.Stateless { // the extension of skills is for revisions without sessions
		switch r.call.Method {
		case mcp.MethodSkillsList:
			return r.list(v.features.Skills, listSkills)
		case mcp.MethodSkillsGet:
			return r.getSkill(ctx)
		case mcp.MethodDirectoryRead:
			return r.readDirectory(ctx)
		}
	}
	return mcp.Reply{}, mcp.Errorf(mcp.KindMethodNotFound, "method %q does not exist here", clip(string(r.call.Method)))
}

// clip keeps what a client sent from filling messages and logs.
func clip(s string) string {
	const most = 256
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
