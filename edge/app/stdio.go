package app

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/transport/stdio"
)

// firstLists bounds how long the first message of a client waits for backends that do not answer: a
// client that probes takes a late answer for none.
const firstLists = 3 * time.Second

// Stdio serves one client over in and out, which it closes, until in ends or ctx does; then it drains
// and returns. Nothing listens. An error means that the client could not be written to, or that some
// calls could not be ended. Use it instead of Run, once.
func (a *App) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	a.pool.Start(run)
	if err := a.startState(ctx); err != nil {
		return errors.Join(err, a.close(ctx))
	}
	a.stateful.Start(run)
	a.awaitLists(ctx)
	router := &era.Router{Stateless: a.stateless, Stateful: a.stateful, MaxBatch: a.cfg.Limits.Batch, Telemetry: a.telemetry}
	err := stdio.Serve(ctx, router, in, out, stdio.Options{
		// Calls beyond what the session may have wait in the pipe rather than being refused.
		MaxInFlight: min(1024, a.cfg.Limits.CallsPerSession),
		MaxLine:     int(a.cfg.Limits.Body), Drain: a.stateless.Drain, Logger: a.log,
	})
	return errors.Join(err, a.close(ctx))
}

// awaitLists waits until every backend was tried, for a while.
func (a *App) awaitLists(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstLists)
	defer cancel()
	err := a.pool.Ready(ctx)
	if err == nil {
		err = a.dispatch.Settle(ctx)
	}
	if err != nil {
		a.log.Warn("serving before every backend was tried: its tools, resources and prompts follow", "error", err)
	}
}
