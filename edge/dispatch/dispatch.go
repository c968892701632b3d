package dispatch

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options are the settings of a Dispatch. Zero values select the defaults named below.
type Options struct {
	// Catalog configures the catalog. Access replaces its Visibility; Logger is its logger if it
	// has none.
	Catalog catalog.Options
	// ArgumentValues bounds the values in a call's arguments, counting objects, arrays and their
	// contents. 0 means 50,000.
	ArgumentValues int
	// Access returns what decides now which calls are allowed: equal results (==) decide alike. A
	// round is decided by the result of when its view of the catalog was made. nil allows all.
	Access func() *access.Decider
	// Revoked returns the reason for which the credentials of a principal are not valid now, as far
	// as this replica knows, or nil. It decides about calls that have waited for an approval. A nil
	// function accepts all.
	Revoked func(*mcp.Principal) error
	// Hooks returns the chain of hooks in force. A chain that was replaced may be closed. A nil
	// function and a nil chain check nothing.
	Hooks func() *hook.Chain
	// Confirmations remembers used confirmations. nil keeps them in memory.
	Confirmations Confirmations
	// CallLifetime is the maximum lifetime of a call that is not a task, and so of the state that a
	// client keeps. 0 means mcp.DefaultCallLifetime.
	CallLifetime time.Duration
	// Redact returns the Masker for responses to clients. A nil function and a nil Masker replace
	// nothing.
	Redact func() *redact.Masker
	// Telemetry observes the calls to backends. nil disables it.
	Telemetry *telemetry.Telemetry
	// Logger logs violations of the contract, each once. nil means slog.Default().
	Logger *slog.Logger
}

const defaultArguments = 50_000

// Dispatch runs the rounds of requests at the backends of a pool. It is safe for concurrent use. It
// has no goroutines between rounds and needs no Close: it ends with the pool and its feeds.
type Dispatch struct {
	opts    Options
	catalog *catalog.Catalog
	sizes   sizes
	// searches is a semaphore for searches. searchWait bounds the wait for it.
	searches   chan struct{}
	searchWait time.Duration
}

// New makes a Dispatch over a pool, started or not. The caller closes the pool.
func New(pool *backend.Pool, opts Options) *Dispatch {
	if opts.ArgumentValues <= 0 {
		opts.ArgumentValues = defaultArguments
	}
	if opts.Catalog.Logger == nil {
		opts.Catalog.Logger = opts.Logger
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.Confirmations == nil {
		opts.Confirmations = once.NewMemory(maxConfirmations)
	}
	if opts.CallLifetime <= 0 {
		opts.CallLifetime = mcp.DefaultCallLifetime
	}
	if opts.Access != nil {
		opts.Catalog.Visibility = func() catalog.Visibility { return opts.Access() }
	}
	d := &Dispatch{opts: opts, searches: make(chan struct{}, runtime.GOMAXPROCS(0)), searchWait: maxSearchWait}
	pool.OnChange(func(b *backend.Backend, _ backend.Kinds) { d.sizes.changed(b, pool.Backends()) })
	d.catalog = catalog.New(pool, opts.Catalog)
	return d
}

// Changes implements the eras' Dispatcher.
func (d *Dispatch) Changes(ctx context.Context, set string, p mcp.Principal, f mcp.Filter) (mcp.Feed, error) {
	return d.catalog.Changes(ctx, set, p, f)
}

// Catalog returns the catalog.
func (d *Dispatch) Catalog() *catalog.Catalog {
	return d.catalog
}

// Call runs one round of a request. It resolves the request, unless call.Target is already
// resolved. It implements the eras' Dispatcher; errors are *mcp.Error.
func (d *Dispatch) Call(ctx context.Context, rules *revision.Rules, call *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
	t := call.Target
	if t == nil || t.Handle == nil {
		var err error
		if t, err = d.Resolve(ctx, rules, call); err != nil {
			return mcp.Reply{}, err
		}
	}
	r := t.Handle.(*round)
	r.setCall(call)
	r.sink = sink
	r.startRedaction()
	reply, err := r.runHooked(ctx)
	r.recordUnredacted(ctx)
	r.settle(&reply)
	if r.owner != nil {
		r.observe(ctx, &reply, err)
	}
	return reply, err
}

// runHooked is run between the hooks on the request and those on its outcome.
func (r *round) runHooked(ctx context.Context) (reply mcp.Reply, err error) {
	err = r.startHooks(ctx)
	defer func() { r.hooks.release() }()
	if err == nil && r.named.Tool == nil { // A call of a tool asks them in callBackendTool.
		err = r.hookRequest()
	}
	if err == nil {
		reply, err = r.run(ctx)
	}
	if err != nil {
		return r.fail(err)
	}
	return reply, nil
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
		return mcp.Reply{}, r.authorize(ctx)
	case !r.rules.Stateless: // the skills extension requires a revision without sessions
	case r.call.Method == mcp.MethodSkillsGet:
		return r.getSkill(ctx)
	case r.call.Method == mcp.MethodDirectoryRead:
		return r.readDirectory(ctx)
	}
	return r.d.catalog.List(&r.named, r.rules, r.call)
}
