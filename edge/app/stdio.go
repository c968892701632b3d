package app

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/transport/stdio"
)

// Stdio serves one client over in and out, which it closes, until in ends or ctx does; then it
// drains and returns. It opens no listener. An error means that the client could not be written to,
// or that some calls could not be ended. Use it instead of Run, once.
func (a *App) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	set, err := a.stdioSet()
	if err != nil {
		return a.logEnd(errors.Join(a.cfg.Locate(err), a.abandon()))
	}
	a.access.WithoutTokens()
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.startExternal(a.current.Load().server)
	a.startHooks(a.current.Load())
	defer func() { a.closeExternal(a.current.Load().server) }()
	defer func() { a.releaseHooks(a.current.Load(), new(generation)) }()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	watching.Go(func() { a.tls.Watch(run) })
	watching.Go(func() { a.watchSettings(run) })
	a.pool.Start(run)
	if err := a.startState(ctx, func() {}); err != nil || ctx.Err() != nil {
		return a.logEnd(errors.Join(err, a.abandon()))
	}
	watching.Go(func() { a.disabled.Run(run) })
	a.startQuotas(run)
	a.startCluster(ctx, run, &watching)
	a.awaitLists(ctx, a.cfg.Advanced.StartWait)
	a.tasks.Start()
	a.stateful.Start(run)
	a.logServing("stdin and stdout")
	router := &era.Router{Stateless: a.stateless, Stateful: a.stateful, MaxBatch: config.Batch, Telemetry: a.telemetry}
	err = stdio.Serve(ctx, router, in, out, stdio.Options{
		Set: set,
		// Calls beyond the session's bound wait in the pipe instead of being refused.
		MaxInFlight: min(1024, a.cfg.Advanced.CallsPerSession),
		MaxLine:     int(a.cfg.Listen.Body), Drain: a.stateless.Drain, Logger: a.log, Holder: a.memory.Holder("", "", netip.Addr{}),
	})
	return a.logEnd(errors.Join(err, a.close(ctx)))
}

// awaitLists waits, for a bounded time, until every backend was tried and either listed or found
// unreachable: one that hangs must not delay the others, and a client that probes takes a late
// answer for none. Later lists are reported as a change.
func (a *App) awaitLists(ctx context.Context, wait time.Duration) {
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := a.pool.Ready(bounded); err != nil && ctx.Err() == nil {
		a.log.Warn("serving before every backend was tried: the lists of the others follow as list changes",
			"backends", strings.Join(a.pool.Untried(), ", "), "waited", wait)
	}
	_ = a.dispatch.Catalog().Settle(ctx) // it only fails with ctx, which the caller checks
}
