// Package app wires the edge together and shuts it down in order. No other package names concrete
// types of all stages.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/dev"
	"github.com/mcpedge/mcpedge/edge/dispatch"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/era/stateful"
	"github.com/mcpedge/mcpedge/edge/era/stateless"
	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/tasks"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/transport/accept"
	"github.com/mcpedge/mcpedge/edge/transport/sse"
	"github.com/mcpedge/mcpedge/edge/transport/streamable"
	"github.com/mcpedge/mcpedge/edge/transport/web"
	"github.com/mcpedge/mcpedge/edge/welcome"
)

// App is one edge process. Make it with New, run it once with Run.
type App struct {
	cfg      config.Config
	log      *slog.Logger
	pool     *backend.Pool
	durable  *durable
	settings settingsFile
	// current is the generation of settings in force. serving is the number of the last generation
	// whose catalog has its views, so that it serves all requests. exchanges counts the changes of
	// its parts.
	current   atomic.Pointer[generation]
	serving   atomic.Int64
	exchanges exchanges
	// gone sums the denials and failures of earlier policies, by rule.
	gone      policyCounts
	store     medium.Store
	names     *ownership.Registry
	disabled  *disabled.Registry
	dispatch  *dispatch.Dispatch
	tasks     *tasks.Tasks
	stateful  *stateful.Era
	stateless *stateless.Era
	endpoint  *streamable.Handler
	sse       *sse.Handler   // nil if HTTP+SSE is not served
	quotas    *quota.Limiter // nil limits nothing
	endQuotas func()
	access    *access.Control
	// hooks are those in force; nil without any.
	hooks   atomic.Pointer[hook.Chain]
	auth    *auth.Authenticator // nil makes every caller anonymous
	callers web.Authenticator   // auth with its refusals observed, and the guard of sets
	// failedSets are for the log.
	failedSets failedSets
	audit      *audit.Log // nil records nothing
	telemetry  *telemetry.Telemetry
	redaction  *redact.Current
	proxies    web.Proxies
	foreign    *foreign
	memory     *budget.Budget // nil admits everything
	// learned bounds the memory of all adapters for kind: reflect; nil means no bound.
	learned  *reflect.Memory
	tls      ends
	identity identitySigners
	cluster  cluster
	dev      *dev.Store     // nil serves no page
	level    *slog.LevelVar // nil if it cannot be changed
	rereads  <-chan os.Signal
	mcp      *web.Server
	admin    *web.Server
	// unready is why this replica should get no traffic. nil means ready.
	unready atomic.Pointer[string]
	// opened is true once clients' requests are served. Before that they wait, or are refused with
	// 503 while the state cannot be reached.
	opened atomic.Bool
	// retiring makes every response close its connection.
	retiring atomic.Bool
	started  time.Time
	// adminAddr is a net.Addr once the admin listener is open.
	adminAddr atomic.Value
	// leaving is closed when the admin address is asked to shut down the process.
	leaving chan struct{}
	leave   func()
}

// Ready implements admin.Readiness.
func (a *App) Ready() error {
	if why := a.unready.Load(); why != nil {
		return errors.New(*why)
	}
	return nil
}

func (a *App) notReady(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	a.unready.Store(&why)
}

// Run serves until ctx ends, then drains and returns. It calls started with the endpoint's URL once
// every backend was tried, or the limit StartWait has passed, and requests are accepted. An error
// means that serving could not begin, or that the drain did not finish within the grace period. A
// ctx that ends before serving began is not an error.
func (a *App) Run(ctx context.Context, started func(endpoint string)) error {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() { a.closeExternal(a.current.Load().server) }()
	defer func() { a.releaseHooks(a.current.Load(), new(generation)) }()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	ctx, cancel := a.untilDrain(ctx)
	defer cancel()
	mcpListener, adminListener, err := a.listen()
	if err != nil {
		return a.logEnd(err)
	}
	failed := make(chan error, 2)
	serve := func(s *web.Server, l *accept.Listener) {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}
	a.startExternal(a.current.Load().server)
	a.startHooks(a.current.Load())
	watching.Go(func() { a.tls.Watch(run) })
	watching.Go(func() { a.watchSettings(run) })
	if keys := a.identity.keys; keys != nil {
		watching.Go(func() { keys.Watch(run) })
	}
	a.adminAddr.Store(adminListener.Addr())
	go serve(a.admin, adminListener)
	a.pool.Start(run)
	if a.auth != nil {
		a.auth.Start(run)
		defer a.auth.Wait()
		defer stop()
	}
	serveMCP := sync.OnceFunc(func() { go serve(a.mcp, mcpListener) })
	never := func(err error) error {
		err = errors.Join(err, a.mcp.Close())
		_ = mcpListener.Close() // a.mcp may have closed it.
		return a.logEnd(errors.Join(err, a.abandon()))
	}
	if err := a.startState(ctx, serveMCP); err != nil || ctx.Err() != nil {
		return never(err)
	}
	a.notReady("waiting for the backends to be tried")
	watching.Go(func() { a.names.Run(run) })
	watching.Go(func() { a.disabled.Run(run) })
	a.startQuotas(run)
	a.startCluster(ctx, run, &watching)
	a.awaitLists(ctx, a.cfg.Advanced.StartWait)
	// Calls of lost replicas are taken over from here on: their backends were tried.
	a.tasks.Start()
	a.stateful.Start(run)
	if ctx.Err() != nil {
		return never(nil)
	}
	a.opened.Store(true)
	serveMCP()
	a.unready.Store(nil)
	endpoint := a.tls.scheme() + mcpListener.Addr().String() + endpointPath
	a.logServing(endpoint)
	started(endpoint)
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	return a.logEnd(errors.Join(err, a.shutdown()))
}

// logEnd logs that the process ends, and returns the error that it ends with.
func (a *App) logEnd(err error) error {
	err = a.cfg.Locate(err)
	a.logStopped(err)
	return err
}

// shutdown drains. The replica becomes unready. For the delay it keeps serving, while each response
// closes its connection; idle connections stay open, because a request may be on its way. Then
// running calls and their streams have the grace period, while HTTP+SSE connections are closed once
// they are idle. Then standalone streams are closed and, shortly before the end of the grace
// period, all streams that a client can resume; then the listener closes. A client that does not
// finish sending its request has a quarter of the grace period, and at the end at most half of the
// rest.
func (a *App) shutdown() error {
	a.notReady("draining")
	a.logDraining()
	a.retiring.Store(true)
	time.Sleep(a.cfg.Shutdown.Delay)
	grace, cancel := context.WithTimeout(context.Background(), a.cfg.Shutdown.Grace)
	defer cancel()
	reading := min(a.cfg.Listen.ReadTimeout, a.cfg.Shutdown.Grace/4)
	a.limitReads(reading)
	a.stateless.Drain()
	connections := make(chan error, 1)
	go func() { connections <- a.drainSSE(grace) }()
	tasks := make(chan error, 1)
	go func() { tasks <- a.tasks.Drain(grace) }()
	drained := errors.Join(a.stateful.Drain(grace), <-connections, <-tasks)
	a.limitReads(min(reading, remaining(grace)/2))
	served := a.mcp.Shutdown(grace)
	if served == nil {
		served = a.endpoint.Wait(grace)
	}
	drained = errors.Join(drained, a.tasks.Drain(grace)) // again, for tasks that have begun or continued since
	var err error
	if drained != nil || served != nil { // Both errors mean only that the grace period has passed.
		err = a.unendedError()
	}
	if served != nil {
		err = errors.Join(err, a.endConnections())
	}
	return errors.Join(err, a.close(grace))
}

// unendedError returns an error that names the calls that did not end within the grace period.
func (a *App) unendedError() error {
	var of []string
	for _, b := range a.pool.Backends() {
		if n := b.Status().Calls; n > 0 {
			of = append(of, fmt.Sprintf("%d of the backend %q", n, b.Name()))
		}
	}
	if n := a.stateful.Unended(); len(of) == 0 && n > 0 {
		return fmt.Errorf("drain: after the grace of %s calls of sessions had not ended: %d that no backend ran, "+
			"which waited for Redis, a hook server, the policy server or a busy backend", a.cfg.Shutdown.Grace, n)
	}
	if n := a.tasks.Unended(); len(of) == 0 && n > 0 {
		return fmt.Errorf("drain: after the grace of %s tasks had not ended: %d that no backend ran, "+
			"which waited for Redis, a hook server or the policy server", a.cfg.Shutdown.Grace, n)
	}
	if len(of) == 0 {
		return fmt.Errorf("drain: after the grace of %s there were connections of clients that had not read or sent all", a.cfg.Shutdown.Grace)
	}
	return fmt.Errorf("drain: after the grace of %s calls had not ended: %s", a.cfg.Shutdown.Grace, strings.Join(of, ", "))
}

// endConnectionsWithin bounds the wait for calls to end after their connections have.
const endConnectionsWithin = time.Second

// endConnections ends all connections, and waits until the calls on them are recorded.
func (a *App) endConnections() error {
	a.stateless.Abort()
	err := a.mcp.Close()
	ctx, cancel := context.WithTimeout(context.Background(), endConnectionsWithin)
	defer cancel()
	a.stateless.Await(ctx) // a call that does not end is not recorded
	return err
}

// limitReads bounds, from now on, the time in which a client must send its request.
func (a *App) limitReads(d time.Duration) {
	d = max(d, time.Millisecond)
	a.mcp.LimitReads(d)
	a.admin.LimitReads(d)
}

// remaining returns the time until a context's deadline.
func remaining(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return time.Until(deadline)
}

// abandon is close for an edge that was stopped before it served any request.
func (a *App) abandon() error {
	a.notReady("draining")
	a.retiring.Store(true)
	grace, cancel := context.WithTimeout(context.Background(), a.cfg.Shutdown.Grace)
	defer cancel()
	return a.close(grace)
}

// close ends the remaining services. The admin address may finish its responses within the grace
// period, the one to a drain request included.
func (a *App) close(grace context.Context) error {
	if a.admin.Shutdown(grace) != nil {
		a.log.Warn("some requests to the admin address did not end within the grace")
	}
	a.stateful.Close()
	a.tasks.Close()
	a.endQuotas()
	a.pool.Close()
	return errors.Join(a.durable.Close(), a.admin.Close(), a.closeAudit(), a.closeTelemetry())
}

// refuseUntilOpen refuses requests until the edge serves.
func (a *App) refuseUntilOpen(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.opened.Load() {
			web.RefuseWhileStarting(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// retire makes every response close its connection (HTTP/2's with a GOAWAY) once the drain has
// begun.
func (a *App) retire(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.retiring.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// endpointFirst serves requests to the endpoint, which are nearly all, without the mux, whose lookup takes
// longer than some of the later stages. A browser gets the page, if there is one.
func endpointFirst(endpoint, page, mux http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; p == endpointPath || p == endpointPath+"/" {
			if page != nil && r.Method != http.MethodPost && welcome.IsPageRequest(r) {
				page.ServeHTTP(w, r)
				return
			}
			endpoint.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

const endpointPath = "/mcp"

func (a *App) servers(router *era.Router) {
	options := web.Options{
		MaxBody: int64(a.cfg.Listen.Body), ReadTimeout: a.cfg.Listen.ReadTimeout, WriteTimeout: a.cfg.Listen.WriteTimeout,
		Origins: a.cfg.Listen.Origins, Hosts: a.cfg.AllowedHosts(), HostsKey: "listen.hosts", OriginsKey: "listen.origins", Refused: a.foreign.on("mcp"),
		Telemetry: a.telemetry, Proxies: a.proxies, Budget: a.memory,
		Tokens: a.cfg.Exchanges(),
	}
	mux := http.NewServeMux()
	a.endpoint = streamable.New(router, a.authenticator(), options)
	endpoint := a.atSets(a.endpoint.Serve)
	a.mount(mux, endpointPath, endpoint)
	if a.auth != nil {
		mux.Handle(auth.MetadataPath, a.auth)
		mux.Handle(auth.MetadataPath+"/", a.auth)
		mux.Handle(auth.ServerMetadataPath, a.auth)
		mux.Handle(auth.ServerMetadataPath+"/", a.auth) // the edge has no such document; pages may read the 404
	}
	about := welcome.Options{Title: a.cfg.Server.Title, URL: a.cfg.Listen.PublicURL, Path: endpointPath, Web: options}
	if a.cfg.Listen.SSE {
		about.SSE = sse.StreamPath
		a.serveSSE(mux, options)
	}
	var page http.Handler
	if _, served := a.cfg.RootSet(); served {
		page = welcome.New(about)
		mux.Handle("/{$}", page)
	}
	errorLog := slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)
	a.mcp = web.NewServer(a.retire(a.refuseUntilOpen(endpointFirst(endpoint, page, mux))), web.ServerOptions{
		ReadTimeout: a.cfg.Listen.ReadTimeout, MaxHeader: int(config.Headers), HTTP2Streams: config.HTTP2Streams,
		MaxAge: a.cfg.Listen.ConnectionAge, Proxies: a.proxies, MaxPerAddress: a.connections().perAddress, Refused: func() { a.telemetry.Hit(telemetry.BoundAddress) },
		TLS: a.tls.mcpServer(), ErrorLog: errorLog,
	})
	admin := web.ServerOptions{
		ReadTimeout: a.cfg.Listen.ReadTimeout, MaxHeader: int(config.Headers), TLS: a.tls.adminServer(), ErrorLog: errorLog,
	}
	if admin.TLS != nil {
		admin.HTTP2Streams = config.HTTP2Streams
	}
	a.admin = web.NewServer(a.administration(router), admin)
}
