package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// round is one round of a request, from its resolution until its end. It is used by one goroutine
// at a time.
type round struct {
	d     *Dispatch
	rules *revision.Rules
	call  *mcp.Call
	sink  mcp.Sink

	// named is the object that the request names, and target the part of it that the eras see.
	named  catalog.Target
	target mcp.Target
	// allowed is the result of the first stage of the decision on the round. The zero value allows it.
	allowed access.Permit

	// hooks is nil if no hooks check the round.
	hooks *hookState

	// misfits are those of the previous rounds.
	misfits misfits

	// required are the requirements of the round. before is the consent that the round before stored,
	// and answer the answer to its question, or nil.
	required *requirements
	before   *consent
	answer   *mcp.InputResponse
	// holds has in Has the confirmations that the call has, or has once the user accepts, and in
	// Approved its approvals.
	holds *consent
	// state is that of the call's consent. spent is true once the nonce of before is spent.
	state consentState
	spent bool
	// effects is true if running the round twice may have further effects.
	effects bool
	// hasProgress is true once progress is set.
	hasProgress bool

	// malformed is the error of a call of the edge's own tool that cannot be unwrapped, or whose
	// header differs from its arguments. nil means that there is none. Requests that are disabled or
	// denied get the error for that instead.
	malformed error

	// unread is why the backend would reject the arguments; nil if no reason is known.
	unread error

	// proof is set with deadline, by prove.
	proof *proof
	// deadline is when the backend's timeout ends.
	deadline time.Time

	// owner is the backend that runs the round, set by outgoingContext.
	owner *backend.Backend
	began time.Time
	// progress is the highest forwarded value.
	progress float64
	// cancel cancels the backend's call.
	cancel context.CancelFunc

	// redaction replaces secrets in the replies to the client. nil replaces nothing.
	redaction *redaction

	// size holds the message sizes for the call's kind of request; nil disables accounting. most is
	// the largest message that may arrive. messagePermit is the memory for the message being received.
	size          *catalog.Size
	most          int64
	messagePermit *budget.Permit
}

// proof is the metadata about the caller that a backend gets.
type proof struct {
	// key and value prove the caller's identity to the backend. An empty key means that there is no proof.
	key, value string
	// pairs are the other metadata with properties of the caller.
	pairs []string
}

// noProof is the proof of a backend that requires none. It is shared, and not changed.
var noProof proof

// server returns the edge's own description for the round's set.
func (r *round) server() *translate.Server { return r.d.catalog.Server(&r.named) }

// begin runs acquire, then outgoingContext.
func (r *round) begin(ctx context.Context, b *backend.Backend, target string) (_ context.Context, end func(), _ error) {
	release, err := r.acquire(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel, err := r.outgoingContext(ctx, b, target)
	if err != nil {
		release()
		return nil, nil, err
	}
	return ctx, func() { cancel(); release() }, nil
}

// acquire takes one of the backend's places for a round. If the backend's Identity gets the
// proof of the caller from another server, acquire waits for that proof first, because a slow proof
// would occupy the place. The backend's timeout includes the wait for the proof.
func (r *round) acquire(ctx context.Context, b *backend.Backend) (release func(), _ error) {
	if b.AsksToProve() {
		r.deadline = r.timeoutAt(b)
		bounded, cancel := context.WithDeadline(ctx, r.deadline)
		err := r.prove(bounded, b)
		cancel()
		if err != nil {
			return nil, err
		}
	}
	return r.acquireSlot(b)
}

// acquireSlot takes one of the backend's places; release returns it.
func (r *round) acquireSlot(b *backend.Backend) (release func(), _ error) {
	release, err := b.Acquire()
	if err != nil {
		r.d.opts.Telemetry.Hit(telemetry.BoundConcurrent)
		return nil, mcp.AsError(err)
	}
	return release, nil
}

// timeoutAt returns when the backend's timeout ends. A task has its own deadline.
func (r *round) timeoutAt(b *backend.Backend) time.Time {
	if r.call.Task != nil {
		return r.call.Task.Until
	}
	return time.Now().Add(b.Timeout())
}

// prove gets the metadata that proves the caller to the backend, and the other metadata with
// properties of the caller. It fails if either is not available.
func (r *round) prove(ctx context.Context, b *backend.Backend) error {
	pairs, err := b.CallerPairs(&r.call.Principal)
	if err != nil {
		return err
	}
	key, value, err := b.Prove(ctx, &r.call.Principal, r.call.ID)
	if err != nil {
		return r.unproven(b, err)
	}
	if r.proof = &noProof; key != "" || len(pairs) > 0 {
		r.proof = &proof{key, value, pairs}
	}
	return nil
}

// outgoingContext gives a round that has a place its deadline and metadata. target is the backend's own name
// of the called object. end cancels what still runs. It fails if the caller's identity cannot be
// proved to the backend, or if the caller lacks a property that the backend requires.
func (r *round) outgoingContext(ctx context.Context, b *backend.Backend, target string) (_ context.Context, end context.CancelFunc, _ error) {
	if r.proof == nil {
		r.deadline = r.timeoutAt(b)
	}
	ctx, cancel := context.WithDeadline(ctx, r.deadline)
	if r.proof == nil {
		if err := r.prove(ctx, b); err != nil {
			cancel()
			return nil, nil, err
		}
	}
	r.owner, r.began = b, time.Now()
	if binder, ok := r.sink.(mcp.Binder); ok {
		binder.Bind(b.Name())
	}
	r.d.opts.Telemetry.CalledBackend(ctx, b.Name())
	r.cancel = cancel
	r.expect(target, b.MaxMessageBytes())
	pairs := appendHeaders(r.proof.pairs, b.Headers(), r.call.HTTP.Header)
	return withMetadata(ctx, r.d.opts.Telemetry, r.call, target, r.proof.key, r.proof.value, pairs), cancel, nil
}

// unproven returns the error for a caller whose identity cannot be proved to a backend. If the call
// began earlier and its token is lost, so is the replica that ran it: no other replica can run it
// again, and its effect is unknown.
func (r *round) unproven(b *backend.Backend, err error) error {
	if !errors.Is(err, mcp.ErrNoToken) || !r.call.Begun {
		return err
	}
	data := jsonrpc.AppendString([]byte(`{"reason":"identity_lost","backend":`), b.Name())
	return &mcp.Error{
		Kind: mcp.KindUnknownOutcome, Data: append(data, '}'), Err: err,
		Message: fmt.Sprintf("the server that ran the call was lost, and with it the access token that the backend %q is called by; "+
			"whether %s took effect is not known: check before you send it again", b.Name(), r.call.Method),
	}
}

// observe records the outcome of the backend's call.
func (r *round) observe(ctx context.Context, reply *mcp.Reply, err error) {
	o := telemetry.Outcome{ToolError: reply.ToolError, InputRequired: reply.Input != nil}
	if err != nil {
		o.Kind = mcp.AsError(err).Kind
	}
	r.d.opts.Telemetry.BackendCalled(ctx, r.owner.Name(), r.call.Method, &o, time.Since(r.began))
}

// status converts the error of a failed RPC.
func (r *round) status(ctx context.Context, err error) *mcp.Error {
	r.owner.Proved(ctx, &r.call.Principal, r.proof.value, err)
	e := translate.Status(err, r.owner.Name(), r.owner.MaxMessageBytes())
	cancelled := e.Kind == mcp.KindCancelled && ctx.Err() == nil // by the backend, not by the client
	dropped := cancelled && translate.Dropped(err)
	switch {
	case r.effects && translate.Unanswered(err):
		return r.unknownOutcome(e, fmt.Sprintf("the connection to the backend %q broke after the request was sent", r.owner.Name()))
	case r.effects && dropped:
		return r.unknownOutcome(e, fmt.Sprintf("the backend %q dropped the request, as servers do that shut down", r.owner.Name()))
	case dropped:
		return &mcp.Error{Kind: mcp.KindUnavailable, Message: "the backend dropped the request, as servers do that shut down; try again later", Data: e.Data, Err: e.Err}
	case cancelled:
		return &mcp.Error{Kind: mcp.KindInternal, Message: "the backend cancelled the call", Data: e.Data, Err: e.Err}
	case e.Kind == mcp.KindTimeout && !time.Now().Before(r.deadline): // The timer of ctx may be later.
		e.Err = r.deadlineError(e.Err)
	}
	return r.refused(e)
}

// deadlineError returns the cause of an error after the deadline of the round: the bound that ended it.
func (r *round) deadlineError(err error) error {
	if r.call.Task != nil {
		return fmt.Errorf("the round took longer than the task may live: %w", err)
	}
	return fmt.Errorf("the round took longer than the backend's timeout of %s: %w", r.owner.Timeout(), err)
}

// unknownOutcome returns e as the error for a request that was sent and not answered; reason begins its
// message.
func (r *round) unknownOutcome(e *mcp.Error, reason string) *mcp.Error {
	return &mcp.Error{
		Kind: mcp.KindUnknownOutcome, Data: e.Data, Err: e.Err,
		Message: fmt.Sprintf("%s; whether %s took effect is not known: check before you send it again", reason, r.call.Method),
	}
}

// refused converts a backend's error to an error of the method.
func (r *round) refused(e *mcp.Error) *mcp.Error {
	if e.Kind == mcp.KindContract {
		return r.nameBackend(e)
	}
	if e.Challenge != nil && r.decider() != nil {
		r.decider().CompleteChallenge(r.rules, r.call, e)
	}
	e = translate.ForMethod(e, r.call.Method, r.call.Params.Target)
	if e.Kind == mcp.KindResourceNotFound && r.conceals() {
		// The backend's own error text could reveal whether an object is hidden or does not exist.
		return catalog.NotFound(r.call.Params.Target)
	}
	return e
}

// contractError returns the error for a backend that broke the contract.
func (r *round) contractError(format string, args ...any) *mcp.Error {
	e := mcp.Errorf(mcp.KindContract, "backend %q broke the contract: %s", r.owner.Name(), fmt.Sprintf(format, args...))
	r.d.catalog.Broken(r.owner.Name(), r.call.Method, e.Message)
	return e
}

// nameBackend adds the backend's name to an error about data that it sent.
func (r *round) nameBackend(err error) *mcp.Error {
	e := mcp.AsError(err)
	if e.Kind != mcp.KindContract {
		return e
	}
	return r.contractError("%s", e.Message)
}

// addClaims adds the claims that only this backend receives to the request's context.
func (r *round) addClaims(about *pb.RequestContext, b *backend.Backend) {
	if claims := b.ClaimsOf(r.call.Principal); claims != nil {
		about.Principal.ClaimsJson = claims
	}
}
