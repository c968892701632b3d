package catalog

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/changes"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Options are the settings of a Catalog. Zero values stand for the defaults named.
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
	PageBytes int
	// SchemaWork bounds what it takes to make the portable schemas of one backend's tools; 0: portable.ListWork.
	SchemaWork int
	// Jitter is the most that a list's change notification is held back, so that clients do not all
	// list at once; 0: 50 ms; negative: none.
	Jitter time.Duration
	// PrivateViews bounds the views kept for callers whose lists are their own; 0: 256.
	PrivateViews int
	// WatchedURIs bounds the resources of one feed; those beyond it are not honoured; 0: 256.
	WatchedURIs int
	// Visibility decides who sees what; nil: everybody sees everything.
	Visibility Visibility
	// Names remembers what backends listed last, for while they are away; nil: in this process.
	Names *ownership.Registry
	// Logger hears of conflicts and broken contracts, each once; nil: slog.Default().
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

// Visibility decides who sees what. Safe for concurrent use.
type Visibility interface {
	// May says whether a caller may do something that has no arguments. Nothing is counted.
	May(who *mcp.Principal, t *policy.Target) bool
	// Lists gives what decides on the lists of a caller: callers with the same entitlement see the same of the same entries.
	// It is the same on every replica. listed nil: every caller sees every entry.
	Lists(who *mcp.Principal) (entitlement string, listed func(*policy.Target) bool)
}

// Catalog is what the backends of a pool serve together, and to whom. Safe for concurrent use. It has no goroutine at rest and needs no
// closing: it ends with the pool and its feeds.
type Catalog struct {
	opts   Options
	server *translate.Server
	report *reporter
	views  *views
	hub    *changes.Hub
}

// New makes a Catalog over a pool, started or not. The pool stays the caller's to close.
func New(pool *backend.Pool, opts Options) *Catalog {
	opts = opts.withDefaults()
	c := &Catalog{
		opts: opts,
		server: translate.NewServer(&pb.Implementation{
			Name: opts.Name, Version: opts.Version, Title: opts.Title,
			Description: opts.Description, WebsiteUrl: opts.WebsiteURL,
		}),
		report: &reporter{log: opts.Logger},
	}
	c.views = newViews(pool.Backends, opts.Names, opts.PrivateViews, c.report, showing{work: opts.SchemaWork})
	c.hub = changes.New(source{c.views, c.report, opts.Visibility}, changes.Options{
		Jitter: opts.Jitter, WatchedURIs: opts.WatchedURIs, Logger: opts.Logger,
	})
	opts.Names.OnChange(func() { c.hub.Changed(0) })
	pool.OnChange(func(_ *backend.Backend, kinds backend.Kinds) { c.hub.Changed(kinds) })
	// A backend may have been listed between the first view and the registration.
	c.hub.Changed(allKinds)
	return c
}

// Server renders what is said of the edge itself.
func (c *Catalog) Server() *translate.Server { return c.server }

// Shared is the view that all callers share.
func (c *Catalog) Shared() *View { return c.views.Shared.Load() }

// Of is the view of a caller. It waits for lists that are the caller's own, and fails only when ctx ends.
func (c *Catalog) Of(ctx context.Context, who mcp.Principal) (*View, error) {
	return c.views.Of(ctx, who)
}

// Kept is how many views are kept of callers whose lists are their own.
func (c *Catalog) Kept() int { return c.views.Private.Len() }
