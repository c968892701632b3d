package catalog

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/changes"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Options are the settings of a Catalog. Zero values select the defaults named below.
type Options struct {
	// Name and Version are the serverInfo of the edge. Empty uses "mcpedge" and "unversioned". They
	// never come from a backend, not even from a single one, because clients compare serverInfo
	// across reconnects.
	Name, Version string
	// Title, Description and WebsiteURL complete serverInfo. Empty omits them.
	Title, Description, WebsiteURL string
	// PageSize bounds the entries of one page of a list, because some clients read only the first
	// page. 0 means 1,000.
	PageSize int
	// PageBytes bounds the rendered entries of one page, in bytes. A single larger entry gets a
	// page of its own. 0 means 1 MiB.
	PageBytes int
	// SchemaWork bounds the work of making the portable schemas of one backend's tools. 0 means
	// portable.ListWork.
	SchemaWork int
	// Overlay changes how tools and prompts are shown, until Replace. nil changes nothing.
	Overlay *overlay.Overlay
	// Sets are the initial sets. Replace replaces them. nil means none.
	Sets overlay.Sets
	// Jitter is the maximum random delay of a list's change notification, so that clients do not
	// all list at once. 0 means 50 ms, a negative value disables it.
	Jitter time.Duration
	// PrivateViews bounds the cached views of callers with private lists. 0 means 256.
	PrivateViews int
	// WatchedURIs bounds the resources that one feed watches. Further ones are not honoured. 0
	// means 256.
	WatchedURIs int
	// Visibility returns what decides now which entries a caller sees: equal results (==) decide
	// alike. Views keep the result of when they were made, and are made anew by Replace. nil shows
	// every entry to every caller.
	Visibility func() Visibility
	// Names stores the names that backends listed last, for use while they are away. nil stores
	// them in this process.
	Names *ownership.Registry
	// Logger receives each conflict and each contract violation once. nil uses slog.Default().
	Logger *slog.Logger
}

const (
	defaultPageSize     = 1000
	defaultPageBytes    = 1 << 20
	defaultJitter       = 50 * time.Millisecond
	defaultPrivateViews = 256
	defaultWatchedURIs  = 256
)

func (o Options) withDefaults() Options {
	o.Name, o.Version = cmp.Or(o.Name, "mcpedge"), cmp.Or(o.Version, "unversioned")
	if o.PageSize <= 0 {
		o.PageSize = defaultPageSize
	}
	if o.PageBytes <= 0 {
		o.PageBytes = defaultPageBytes
	}
	o.Jitter = cmp.Or(o.Jitter, defaultJitter)
	if o.PrivateViews <= 0 {
		o.PrivateViews = defaultPrivateViews
	}
	if o.WatchedURIs <= 0 {
		o.WatchedURIs = defaultWatchedURIs
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Names == nil {
		o.Names = ownership.New(ownership.Options{Logger: o.Logger})
	}
	return o
}

// Visibility decides which entries a caller sees. It does not change, and is safe for concurrent
// use.
type Visibility interface {
	// May reports whether a caller may make a request without arguments. The decision is not
	// counted.
	May(who *mcp.Principal, t *policy.Target) bool
	// Lists returns the caller's entitlement and its filter for list entries. Callers with the same
	// entitlement see the same entries of the same list. The entitlement is equal on every replica.
	// A nil filter shows every entry to every caller.
	Lists(who *mcp.Principal) (entitlement string, listed func(*policy.Target) bool)
}

// Catalog merges what the backends of a pool serve and decides what each caller sees. It is safe
// for concurrent use. It has no goroutine while idle and needs no closing: it ends with the pool
// and its feeds.
type Catalog struct {
	opts   Options
	server *translate.Server
	report *reporter
	views  *views
	hub    *changes.Hub
}

// New returns a Catalog over a pool, which may or may not be started. The caller keeps ownership of
// the pool.
func New(pool *backend.Pool, opts Options) *Catalog {
	opts = opts.withDefaults()
	server := func(title string) *translate.Server {
		return translate.NewServer(&pb.Implementation{
			Name: opts.Name, Version: opts.Version, Title: title,
			Description: opts.Description, WebsiteUrl: opts.WebsiteURL,
		})
	}
	c := &Catalog{opts: opts, server: server(opts.Title), report: &reporter{log: opts.Logger}}
	c.views = newViews(pool.Backends, viewOptions{report: c.report, server: server}, &opts)
	c.hub = changes.New(source{c.views, c.report}, changes.Options{
		Jitter: opts.Jitter, WatchedURIs: opts.WatchedURIs, Logger: opts.Logger,
	})
	opts.Names.OnChange(func() { c.hub.Changed(0) })
	pool.OnChange(func(_ *backend.Backend, kinds backend.Kinds) { c.hub.Changed(kinds) })
	// A backend may have been listed between the first view and the registration.
	c.hub.Changed(allKinds)
	return c
}

// Server returns the renderer of the edge's own description in results for a target.
func (c *Catalog) Server(t *Target) *translate.Server { return c.serverOf(t.view) }

// serverOf returns the renderer for a view, which may be nil.
func (c *Catalog) serverOf(v *View) *translate.Server {
	if v == nil || v.server == nil {
		return c.server
	}
	return v.server
}

// Shared returns the view that all callers share.
func (c *Catalog) Shared() *View { return c.views.Shared.Load() }

// Of returns the view of a caller in a set; empty means the root. It waits for the caller's private
// lists, and fails only when ctx ends.
func (c *Catalog) Of(ctx context.Context, set string, who mcp.Principal) (*View, error) {
	return c.views.Of(ctx, set, who)
}

// Kept returns the number of cached views of callers with private lists.
func (c *Catalog) Kept() int { return c.views.Private.Len() }
