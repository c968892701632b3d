package dispatch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// message is one message of a round's stream, whose result is an R.
type message[R any] interface {
	GetProgress() *pb.Progress
	GetLog() *pb.LogMessage
	GetResult() R
	GetInputRequired() *pb.InputRequired
	GetFailure() *pb.Failure
}

// toolEvents are the events that only tool calls have.
type toolEvents interface {
	GetDefer() *pb.Defer
	GetCheckpoint() *pb.Checkpoint
}

// ending is the end of a round's stream: input if it is required, otherwise a result.
type ending[R any] struct {
	result R
	input  *pb.InputRequired
}

// linger is the time for which a stream may stay open after its outcome before it is cancelled. A
// message that arrives in that time breaks the contract. The outcome is not delayed.
const linger = time.Second

// receive reads a round's stream to its end. It passes events to the sink and requires exactly one
// outcome. A failure or a status is returned as an *mcp.Error. The caller cancels ctx afterwards.
func receive[T any, M interface {
	*T
	proto.Message
	message[R]
}, R comparable](ctx context.Context, r *round, stream grpc.ServerStreamingClient[T]) (ending[R], error) {
	// One message is reused: event data is copied.
	m := M(new(T))
	for {
		if err := r.await(ctx, stream); err != nil {
			return ending[R]{}, err
		}
		err := stream.RecvMsg(m)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return ending[R]{}, r.contractError("the stream of %s ended without an outcome", r.call.Method)
			}
			return ending[R]{}, r.status(ctx, err)
		}
		r.received(m)
		out, failure, done, err := handleMessage[R](ctx, r, m)
		if err != nil {
			return ending[R]{}, err
		}
		if !done {
			continue
		}
		if err := awaitEnd(ctx, r, stream, m); err != nil {
			return ending[R]{}, err
		}
		if failure != nil {
			return ending[R]{}, r.refused(translate.Failure(failure, r.owner.Name()))
		}
		return out, nil
	}
}

// handleMessage passes an event on, or returns an outcome; done is true for an outcome.
func handleMessage[R comparable](ctx context.Context, r *round, m message[R]) (out ending[R], failure *pb.Failure, done bool, err error) {
	var none R
	if p := m.GetProgress(); p != nil {
		return out, nil, false, r.onProgress(ctx, p)
	}
	if l := m.GetLog(); l != nil {
		return out, nil, false, r.onLog(ctx, l)
	}
	if out.result = m.GetResult(); out.result != none {
		return out, nil, true, nil
	}
	if out.input = m.GetInputRequired(); out.input != nil {
		return out, nil, true, nil
	}
	if failure = m.GetFailure(); failure != nil {
		return out, failure, true, nil
	}
	if t, ok := m.(toolEvents); ok {
		if t.GetDefer() != nil {
			return out, nil, false, r.onDefer(ctx)
		}
		if p := t.GetCheckpoint(); p != nil {
			return out, nil, false, r.onCheckpoint(p)
		}
	}
	return out, nil, false, r.contractError("the stream of %s holds a message that is neither an event nor an outcome", r.call.Method)
}

// awaitEnd waits a bounded time for the stream to end after its outcome. m receives a message that breaks the contract.
func awaitEnd(ctx context.Context, r *round, stream grpc.ClientStream, m proto.Message) error {
	timer := time.AfterFunc(linger, r.cancel)
	err := stream.RecvMsg(m)
	timer.Stop()
	switch {
	case err == nil:
		return r.contractError("the stream of %s continues after its outcome", r.call.Method)
	case !errors.Is(err, io.EOF) && ctx.Err() == nil:
		return r.contractError("the stream of %s ends with a status after its outcome: %v", r.call.Method, err)
	}
	return nil
}

// onProgress passes increasing progress on, if the client requested it.
func (r *round) onProgress(ctx context.Context, p *pb.Progress) error {
	token, value := r.call.Params.Meta.ProgressToken, p.GetProgress()
	if len(token) == 0 || math.IsNaN(value) || math.IsInf(value, 0) || r.hasProgress && value <= r.progress {
		return nil
	}
	r.masks(redact.Progress).Message(p)
	ev, err := translate.Progress(r.rules, token, p)
	if err != nil {
		return r.nameBackend(err)
	}
	r.progress, r.hasProgress = value, true
	return r.emit(ctx, ev)
}

// onDefer passes the backend's request for a task on, if the sink supports tasks.
func (r *round) onDefer(ctx context.Context) error {
	if d, ok := r.sink.(mcp.Deferrer); ok {
		return d.Defer(ctx)
	}
	return nil
}

// onCheckpoint passes on the state from which the round may be run again.
func (r *round) onCheckpoint(p *pb.Checkpoint) error {
	if n := len(p.GetState()); n > mcp.MaxState {
		return r.contractError("checkpoint.state has %d bytes, at most %d can be kept", n, mcp.MaxState)
	}
	if c, ok := r.sink.(mcp.Checkpointer); ok {
		c.Checkpoint(r.nextConsent(false).prepend(misfits(nil).prepend(bytes.Clone(p.GetState()))))
	}
	return nil
}

// onLog passes on log messages at or above the call's level.
func (r *round) onLog(ctx context.Context, l *pb.LogMessage) error {
	level := mcp.LogLevel(0)
	if n := l.GetLevel(); n > 0 && int(n) <= int(mcp.LogEmergency) {
		level = mcp.LogLevel(n)
	}
	switch {
	case level == mcp.LogNone:
		return r.contractError("log.level is %d, which is not a level", l.GetLevel())
	case r.call.LogLevel == mcp.LogNone || level < r.call.LogLevel:
		return nil
	}
	r.masks(redact.Logs).Message(l)
	ev, err := translate.LogMessage(r.rules, l)
	if err != nil {
		return r.nameBackend(err)
	}
	return r.emit(ctx, ev)
}

// emit passes an event to the sink. Without a sink it drops the event. The sink returns an error if
// the round is too late, or if its client has left.
func (r *round) emit(ctx context.Context, ev mcp.Event) error {
	if r.sink == nil {
		return nil
	}
	if err := r.sink.Emit(ctx, ev); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return r.status(ctx, status.FromContextError(ctx.Err()).Err())
		}
		return &mcp.Error{Kind: mcp.KindCancelled, Message: "the call was cancelled: its events have no reader", Err: err}
	}
	return nil
}
