package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// round is one round of a request while it runs. It is used by one goroutine.
type round struct {
	d     *Dispatch
	view  *view
	rules *revision.Rules
	call  *mcp.Call
	sink  mcp.Sink

	// owner is the backend that does the work, from begin on.
	owner *backend.Backend
	began time.Time
	// progress is the highest value passed on, once told is true.
	progress float64
	told     bool
	// cancel ends the backend's call.
	cancel context.CancelFunc

	// size is that of the messages which came of the kind that the call asks for, most the largest that
	// may come; nil where nothing is counted. permit is for the one that is being received.
	size   *size
	most   int64
	permit *budget.Permit
}

// begin is admit and enter.
func (r *round) begin(ctx context.Context, b *backend.Backend, target string) (_ context.Context, end func(), _ error) {
	release, err := r.admit(b)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := r.enter(ctx, b, target)
	return ctx, func() { cancel(); release() }, nil
}

// admit takes one of the backend's places; release gives it back.
func (r *round) admit(b *backend.Backend) (release func(), _ error) {
	release, err := b.Acquire()
	if err != nil {
		r.d.opts.Telemetry.Hit(telemetry.BoundConcurrent)
		return nil, mcp.AsError(err)
	}
	return release, nil
}

// enter gives an admitted round its deadline and metadata. target is the backend's own name for what is
// called. end cancels what still runs.
func (r *round) enter(ctx context.Context, b *backend.Backend, target string) (_ context.Context, end context.CancelFunc) {
	r.owner, r.began = b, time.Now()
	r.d.opts.Telemetry.CalledBackend(ctx, b.Name())
	ctx, cancel := context.WithTimeout(withMetadata(ctx, r.d.opts.Telemetry, r.call, target), b.Timeout())
	r.cancel = cancel
	r.expect(target, b.MaxMessageBytes())
	return ctx, cancel
}

// observe records how the backend did.
func (r *round) observe(ctx context.Context, reply *mcp.Reply, err error) {
	o := telemetry.Outcome{ToolError: reply.ToolError, InputRequired: reply.Input != nil}
	if err != nil {
		o.Kind = mcp.AsError(err).Kind
	}
	r.d.opts.Telemetry.BackendCalled(ctx, r.owner.Name(), r.call.Method, &o, time.Since(r.began))
}

// status is a failed RPC as an error.
func (r *round) status(ctx context.Context, err error) *mcp.Error {
	e := translate.Status(err, r.owner.Name())
	if e.Kind == mcp.KindCancelled && ctx.Err() == nil {
		// Nobody here cancelled: the client waits for an answer.
		return &mcp.Error{Kind: mcp.KindInternal, Message: "the backend cancelled the call", Data: e.Data, Err: e.Err}
	}
	return r.refused(e)
}

// refused is a backend's answer in the terms of the method.
func (r *round) refused(e *mcp.Error) *mcp.Error {
	if e.Kind == mcp.KindContract {
		return r.blame(e)
	}
	return translate.ForMethod(e, r.call.Method, r.call.Params.Target)
}

// broken is an error about a backend that broke the contract.
func (r *round) broken(format string, args ...any) *mcp.Error {
	e := mcp.Errorf(mcp.KindContract, "backend %q broke the contract: %s", r.owner.Name(), fmt.Sprintf(format, args...))
	r.d.report.once("broken\x00"+r.owner.Name()+"\x00"+e.Message, "a backend broke the contract",
		"backend", r.owner.Name(), "method", string(r.call.Method), "error", e.Message)
	return e
}

// blame adds the backend's name to an error found in what it sent.
func (r *round) blame(err error) *mcp.Error {
	e := mcp.AsError(err)
	if e.Kind != mcp.KindContract {
		return e
	}
	return r.broken("%s", e.Message)
}

// notServed: no backend has the method's feature, or none is known that can be used now.
func (r *round) notServed() *mcp.Error {
	if r.view.failed != nil {
		return mcp.AsError(r.view.failed)
	}
	if r.view.incomplete() {
		return mcp.Errorf(mcp.KindUnavailable,
			"no backend can be asked for %s now: one is down, or its list cannot be read; try again later", r.call.Method)
	}
	return mcp.Errorf(mcp.KindMethodNotFound, "no backend serves %s", r.call.Method)
}
