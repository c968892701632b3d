package backend

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Backend is one configured target, connected or not. All methods are safe for concurrent use.
type Backend struct {
	cfg Config
	// claims are the names of the callers' claims that are sent to the backend: its answers may
	// depend on them.
	claims []string
	tune   *tuning
	log    *slog.Logger
	// discovered is true if the backend is not in the configuration.
	discovered bool

	// conn carries calls, lists and feeds. side carries the resource watches, whose number may
	// exceed the streams that a peer allows on one connection; it is dialled with the first watch.
	conn, side *grpc.ClientConn
	adapter    Adapter // nil: the target implements the contract
	describer  pb.BackendServiceClient
	tools      pb.ToolServiceClient
	resources  pb.ResourceServiceClient
	prompts    pb.PromptServiceClient
	watcher    pb.ResourceServiceClient

	calls   atomic.Int64
	release func()

	catalog atomic.Pointer[Catalog]
	// content is the source of the catalog; it is written before the catalog.
	content atomic.Pointer[content]
	private private
	signals signals
	changed func(*Backend, Kinds)

	watchMu sync.Mutex
	watches map[watchKey]*watch

	statusMu sync.Mutex
	status   Status

	tried     chan struct{}
	triedOnce sync.Once
	group     group
}

func newBackend(cfg Config, opts Options, tune *tuning, changed func(*Backend, Kinds)) (*Backend, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	log := opts.Logger
	if log == nil {
		log = slog.Default()
	}
	b := &Backend{
		cfg: cfg, claims: cfg.forwardedClaims(), tune: tune, log: log.With("backend", cfg.Name), changed: changed,
		watches: map[watchKey]*watch{},
		status:  Status{Since: time.Now()},
		tried:   make(chan struct{}),
	}
	b.group.init()
	b.signals.wake = make(chan struct{}, 1)
	b.private.init(tune.principals)
	b.catalog.Store(absent)
	b.release = func() { b.calls.Add(-1) }
	if err := b.dial(); err != nil {
		return nil, err
	}
	b.describer = pb.NewBackendServiceClient(b.conn)
	var work grpc.ClientConnInterface = b.conn
	if opts.Tracing != nil {
		work = opts.Tracing.Conn(b.conn)
	}
	b.tools = pb.NewToolServiceClient(work)
	b.resources = pb.NewResourceServiceClient(work)
	b.prompts = pb.NewPromptServiceClient(work)
	b.watcher = pb.NewResourceServiceClient(b.side)
	if cfg.Adapt != nil {
		b.adapter = cfg.Adapt(b.conn, work)
		b.describer, b.tools = b.adapter, b.adapter
	}
	return b, nil
}

// dial makes the connections.
func (b *Backend) dial() (err error) {
	if b.conn, err = dial(b.cfg, b.tune, grpc.WithIdleTimeout(0)); err == nil {
		b.side, err = dial(b.cfg, b.tune)
	}
	if err != nil {
		b.closeConns()
	}
	return err
}

// closeConns closes the connections that were made.
func (b *Backend) closeConns() {
	for _, conn := range []*grpc.ClientConn{b.conn, b.side} {
		if conn != nil {
			_ = conn.Close()
		}
	}
	if b.adapter != nil {
		b.adapter.Close()
	}
}

// start begins to connect; the end of ctx has the effect of close.
func (b *Backend) start(ctx context.Context) {
	b.group.follow(ctx)
	b.group.run(b.followLink)
	b.group.run(func(ctx context.Context) { (&refresher{b: b}).run(ctx) })
}

// close ends all calls, feeds and watches, and waits for their goroutines.
func (b *Backend) close() {
	b.group.cancel()
	b.closeConns()
	b.group.wait()
}

// Name is the configured name.
func (b *Backend) Name() string { return b.cfg.Name }

// Prefix precedes the backend's tool and prompt names; it may be empty.
func (b *Backend) Prefix() string { return b.cfg.Prefix }

// FullSchemas reports whether clients receive the schemas of its tools' arguments unchanged, and
// not in the form that all clients and model interfaces accept (see package edge/schema/portable).
// Arguments are checked by the full ones.
func (b *Backend) FullSchemas() bool { return b.cfg.FullSchemas }

// URIs are the prefixes of URIs that the configuration assigns to the backend. The slice must not
// be changed.
func (b *Backend) URIs() []string { return b.cfg.URIs }

// Discovered reports whether the backend is not in the configuration, so that it may be removed
// while the edge runs.
func (b *Backend) Discovered() bool { return b.discovered }

// Timeout bounds one call.
func (b *Backend) Timeout() time.Duration { return b.cfg.Timeout }

// MaxMessageBytes bounds one received message.
func (b *Backend) MaxMessageBytes() int { return b.cfg.MaxMessageBytes }

// Tools is the client of the backend's ToolService, whether it is served or not.
func (b *Backend) Tools() pb.ToolServiceClient { return b.tools }

// Resources is the client of the backend's ResourceService, whether it is served or not.
func (b *Backend) Resources() pb.ResourceServiceClient { return b.resources }

// Prompts is the client of the backend's PromptService, whether it is served or not.
func (b *Backend) Prompts() pb.PromptServiceClient { return b.prompts }

// Acquire admits one call. If MaxConcurrent calls are running it fails at once with KindLimit;
// otherwise release must be called exactly once, when the call has ended. It does not block or
// allocate.
func (b *Backend) Acquire() (release func(), err error) {
	if b.calls.Add(1) > int64(b.cfg.MaxConcurrent) {
		b.calls.Add(-1)
		return nil, mcp.Errorf(mcp.KindLimit, "backend %q is busy with %d calls, its limit: try again later", b.cfg.Name, b.cfg.MaxConcurrent)
	}
	return b.release, nil
}

// Catalog returns the catalog for all callers, or for the anonymous caller if the backend has
// private lists. It is never nil. Its Present is false if the backend was never reached, or not for
// StaleAfter.
func (b *Backend) Catalog() *Catalog { return b.catalog.Load() }
