package hook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/sony/gobreaker/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	"github.com/mcpedge/mcpedge/internal/grpcconn"
)

// Hook is the client of one hook server. Use New to create one. Safe for concurrent use.
type Hook struct {
	o      Options
	conn   *grpcconn.Conn
	server hookv1.HookServiceClient
	slots  chan struct{}
	// breaker stops RPCs to a server that does not respond, so that requests do not wait for it.
	breaker *gobreaker.TwoStepCircuitBreaker[any]
	log     *slog.Logger
	// outage decides which failures are logged, because clients can send messages that make a hook
	// fail.
	outage grpcconn.Outage
}

// New returns a Hook. It connects at its first use. The caller must close it.
func New(o Options) (*Hook, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.Pause <= 0 {
		o.Pause = DefaultPause
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	conn, err := grpcconn.New(o.Target, o.Credentials)
	if err != nil {
		return nil, err
	}
	return &Hook{
		o: o, conn: conn, server: hookv1.NewHookServiceClient(conn.Traced(o.Tracing)), slots: make(chan struct{}, o.Concurrency),
		log: o.Logger.With("hook", o.Name, "target", o.Target), breaker: newBreaker(o.Pause),
	}, nil
}

// Name returns the name of the hook.
func (h *Hook) Name() string { return h.o.Name }

// Claims returns the names of the caller's claims that the hook gets.
func (h *Hook) Claims() []string { return h.o.Claims }

// IsAudit reports whether the verdicts of the hook are ignored.
func (h *Hook) IsAudit() bool { return h.o.Audit }

// On reports whether the hook is consulted at a point.
func (h *Hook) On(p Point) bool { return slices.Contains(h.o.On, p) }

// Matches reports whether the hook is consulted about a request. A condition that cannot be
// evaluated matches.
func (h *Hook) Matches(who *mcp.Principal, t *policy.Target, args policy.Arguments) bool {
	if h.o.Match == nil {
		return true
	}
	is, err := h.o.Match.Holds(who, t, args)
	return is || err != nil
}

// Start connects in advance, so that the first RPC does not wait for the connection.
func (h *Hook) Start() { h.conn.Start() }

// Close closes the connection once no acquired Chain uses the hook any more. It does not wait for
// that.
func (h *Hook) Close() { h.conn.Close() }

// Limit returns the maximum size of the response to a message of n bytes. It is at most most.
func Limit(n, most int) int { return min(2*n+responseMargin, most) }

// CheckRequest consults the hook about a request or, if req has Answers, about the answers of a
// client. most bounds the response, in bytes. accept is called at most once, and returns an error
// if a replacement cannot be used. CheckRequest returns a *mcp.Error if ctx ended.
func (h *Hook) CheckRequest(ctx context.Context, req *hookv1.CheckRequestRequest, most int, accept func(*hookv1.RequestReplacement) error) (Decision, error) {
	on := Request
	if len(req.GetAnswers()) > 0 {
		on = Answer
	}
	return h.consult(ctx, on, func(ctx context.Context) (Outcome, string, error) {
		resp, err := h.server.CheckRequest(ctx, req, grpc.MaxCallRecvMsgSize(Limit(proto.Size(req), most)))
		if err != nil {
			return Failed, "", err
		}
		switch v := resp.GetVerdict().(type) {
		case *hookv1.CheckRequestResponse_Pass:
			return Passed, "", nil
		case *hookv1.CheckRequestResponse_Replace:
			return Replaced, "", accept(v.Replace)
		case *hookv1.CheckRequestResponse_Deny:
			return Denied, clip(v.Deny.GetReason()), nil
		}
		return Failed, "", errNoVerdict
	})
}

// CheckResult consults the hook about the result of a backend. It is otherwise like CheckRequest.
func (h *Hook) CheckResult(ctx context.Context, req *hookv1.CheckResultRequest, most int, accept func(*hookv1.Outcome) error) (Decision, error) {
	return h.consult(ctx, Result, func(ctx context.Context) (Outcome, string, error) {
		resp, err := h.server.CheckResult(ctx, req, grpc.MaxCallRecvMsgSize(Limit(proto.Size(req), most)))
		if err != nil {
			return Failed, "", err
		}
		switch v := resp.GetVerdict().(type) {
		case *hookv1.CheckResultResponse_Pass:
			return Passed, "", nil
		case *hookv1.CheckResultResponse_Replace:
			return Replaced, "", accept(v.Replace)
		case *hookv1.CheckResultResponse_Deny:
			return Denied, clip(v.Deny.GetReason()), nil
		}
		return Failed, "", errNoVerdict
	})
}

var errNoVerdict = errors.New("its response has no verdict: set pass, replace or deny")

// consult makes an RPC within the bounds of the hook, and counts its outcome.
func (h *Hook) consult(ctx context.Context, on Point, question func(context.Context) (Outcome, string, error)) (Decision, error) {
	d := Decision{Name: h.o.Name, On: on, Would: h.o.Audit, Open: h.o.Open}
	var err error
	began := time.Now()
	if d.Outcome, d.Reason, err = h.limited(ctx, on, question); err != nil && ctx.Err() != nil {
		return d, mcp.Errorf(mcp.KindCancelled, "the request ended before the hook %q had answered: %w", h.o.Name, context.Cause(ctx))
	}
	if err != nil {
		d.Reason = clip(err.Error())
	}
	took := time.Since(began)
	if d.Outcome == Busy || d.Outcome == BreakerOpen {
		took = -1
	}
	h.observe(ctx, &d, took)
	return d, nil
}

// limited makes an RPC if the concurrency and the breaker permit it. An RPC about a list waits for
// the concurrency.
func (h *Hook) limited(ctx context.Context, on Point, question func(context.Context) (Outcome, string, error)) (Outcome, string, error) {
	select {
	case h.slots <- struct{}{}:
	default:
		if on != List {
			return Busy, "", fmt.Errorf("%d RPCs wait for its response, the limit by hooks[].concurrency", h.o.Concurrency)
		}
		select {
		case h.slots <- struct{}{}:
		case <-ctx.Done():
			return Busy, "", context.Cause(ctx)
		}
	}
	defer func() { <-h.slots }()
	ended, err := h.breaker.Allow()
	if err != nil {
		return BreakerOpen, "", fmt.Errorf("it did not respond to %d consecutive RPCs: it gets no other for %s", maxFailures, h.o.Pause)
	}
	end := errAbandoned // the outcome if question panics
	defer func() { ended(end) }()
	if h.breaker.State() == gobreaker.StateHalfOpen {
		ctx = context.WithoutCancel(ctx) // A cancelled trial has no result. Callers that leave in turns would keep the breaker open.
	}
	asked, cancel := context.WithTimeout(ctx, h.o.Timeout)
	defer cancel()
	outcome, reason, err := question(asked)
	switch {
	case err == nil:
		if h.outage.Answered() {
			h.log.Info("the hook has recovered")
		}
	case ctx.Err() != nil:
		return Failed, "", err
	case h.outage.Failed():
		h.logFailed(err)
	}
	if end = err; err != nil {
		return Failed, "", err
	}
	return outcome, reason, nil
}

// errAbandoned is the outcome of an RPC whose caller left or that panicked. The breaker ignores it.
var errAbandoned = errors.New("abandoned")

// newBreaker returns a breaker that opens after maxFailures consecutive RPCs without a response.
// After the pause, one RPC tries the server. Any response counts as one, even an error status or an
// unusable verdict: a client may be able to provoke these, and must not affect other clients.
func newBreaker(pause time.Duration) *gobreaker.TwoStepCircuitBreaker[any] {
	return gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Timeout:      pause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= maxFailures },
		IsSuccessful: func(err error) bool { return err == nil || !isUnanswered(err) },
		IsExcluded:   func(err error) bool { return err == errAbandoned },
	})
}

// isUnanswered reports whether the error of an RPC means that the server did not respond.
func isUnanswered(err error) bool {
	st, ok := status.FromError(err)
	return ok && (st.Code() == codes.Unavailable || st.Code() == codes.DeadlineExceeded || st.Code() == codes.Canceled)
}

// Skip returns a decision without an RPC, with the outcome Busy and a reason.
func (h *Hook) Skip(ctx context.Context, on Point, why string) Decision {
	d := Decision{Name: h.o.Name, On: on, Outcome: Busy, Reason: clip(why), Would: h.o.Audit, Open: h.o.Open}
	h.observe(ctx, &d, -1)
	return d
}

func (h *Hook) observe(ctx context.Context, d *Decision, took time.Duration) {
	if h.o.Observe != nil {
		h.o.Observe(ctx, d.Name, d.On.String(), d.Outcome.String(), took)
	}
}

// logFailed logs a failure and its effect.
func (h *Hook) logFailed(err error) {
	var follows string
	switch {
	case h.o.Audit:
		follows = "passed, as its setting mode says"
	case h.o.Open:
		follows = "passed, as its setting on-failure says"
	default:
		follows = "denied, as its setting on-failure says"
	}
	h.log.Error("the hook failed: until it recovers, the messages that it would check are "+follows, "timeout", h.o.Timeout, "error", err)
}

// IsOpen reports whether the breaker is open or half-open.
func (h *Hook) IsOpen() bool { return h.breaker.State() != gobreaker.StateClosed }
