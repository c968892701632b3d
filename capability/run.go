package capability

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// outcome is the end of a round: a result or one of the alternatives. err is a gRPC status.
type outcome[R any] struct {
	result   R
	required *mcpedgev1.InputRequired
	failure  *mcpedgev1.Failure
	err      error
}

// run runs a handler for one round in its own goroutine, so that a question can end it, and returns
// when it has ended. plain converts an error without a kind into an outcome.
func run[R any](ctx context.Context, log *slog.Logger, name string, c *Call,
	handler func() (R, error), plain func(error) (R, error)) outcome[R] {
	var (
		result R
		err    = errGoexit // replaced when the handler returns
		done   = make(chan struct{})
	)
	go func() {
		defer close(done)
		defer guard(log, name, c, &err)
		result, err = handler()
	}()
	<-done
	c.finish()
	c.mu.Lock()
	unwound, missing, mistake := c.answers.unwound, slices.Clone(c.answers.missing), c.answers.mistake
	c.mu.Unlock()
	if mistake != nil && !isPanic(err) {
		return outcome[R]{failure: mistake.proto()}
	}
	if unwound && !isPanic(err) {
		return require[R](c, &InputRequired{Requests: missing})
	}
	return conclude(ctx, c, result, err, plain)
}

// conclude converts the return values of a handler into an outcome.
func conclude[R any](ctx context.Context, c *Call, result R, err error, plain func(error) (R, error)) outcome[R] {
	var (
		failure  *Failure
		required *InputRequired
	)
	switch {
	case err == nil:
		return outcome[R]{result: result}
	case errors.As(err, &required):
		return require[R](c, required)
	case errors.As(err, &failure):
		return outcome[R]{failure: failure.proto()}
	case ctx.Err() != nil:
		return outcome[R]{err: status.FromContextError(ctx.Err()).Err()}
	}
	if st, ok := status.FromError(err); ok && st.Code() != codes.OK {
		return outcome[R]{err: st.Err()}
	}
	result, err = plain(err)
	if errors.As(err, &failure) {
		return outcome[R]{failure: failure.proto()}
	}
	return outcome[R]{result: result}
}

func require[R any](c *Call, r *InputRequired) outcome[R] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.State != nil {
		c.state = r.State
	}
	required, err := c.required(r.Requests, r.RetryAfter, r.Repeatable)
	if err != nil {
		return outcome[R]{failure: &mcpedgev1.Failure{Reason: Internal, Message: err.Error()}}
	}
	return outcome[R]{required: required}
}

// errGoexit is the error if the handler's goroutine ends without returning, other than by a question.
var errGoexit error = &Failure{Reason: Internal, Message: "the handler called runtime.Goexit; return an error instead"}

// panicked is the failure of a handler that panicked.
type panicked struct{ Failure }

func isPanic(err error) bool {
	var p *panicked
	return errors.As(err, &p)
}

func (p *panicked) Unwrap() error { return &p.Failure }

// guard converts a panic into an INTERNAL failure. The stack is written to the log only.
func guard(log *slog.Logger, name string, c *Call, err *error) {
	if p := recover(); p != nil {
		log.Error("a handler panicked", "handler", name, "call_id", c.ID(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = &panicked{Failure{Reason: Internal, Message: fmt.Sprintf("%s failed by a fault of the service", name)}}
	}
}

// failPlainly returns an error without a kind unchanged, for reads and prompts.
func failPlainly[R any](err error) (R, error) {
	var none R
	return none, &Failure{Reason: Internal, Message: err.Error()}
}
