package reflect

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// events is an in-process stream of a call or feed: a goroutine of the adapter sends, and one of
// the caller receives.
type events struct {
	// ctx ends with caller, and when the adapter is closed.
	ctx context.Context
	// caller is the caller's context.
	caller context.Context
	sent   chan proto.Message
	// err is the result of the stream, valid after sent is closed: io.EOF, or a status.
	err error
	// next is the message that Header received; nil if none.
	next proto.Message
}

// open starts a stream. It runs run in a goroutine of the adapter, and ends with it.
func open[Req, Res any](ctx context.Context, a *Adapter, run func(*events) error) (grpc.ServerStreamingClient[Res], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, awayError{errClosed}
	}
	e := &events{caller: ctx, sent: make(chan proto.Message)}
	a.group.Go(func() {
		defer close(e.sent)
		var cancel context.CancelFunc
		e.ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(a.ctx, cancel)()
		e.err = outcome(run(e))
	})
	return &grpc.GenericClientStream[Req, Res]{ClientStream: e}, nil
}

// outcome converts the result of run to gRPC's result of a stream.
func outcome(err error) error {
	if err == nil {
		return io.EOF
	}
	if _, is := status.FromError(err); is {
		return err
	}
	return status.FromContextError(err).Err()
}

// send transfers the ownership of a message to the receiver. It waits for the receiver.
func (e *events) send(m proto.Message) error {
	select {
	case e.sent <- m:
		return nil
	case <-e.ctx.Done():
		return status.FromContextError(e.ctx.Err()).Err()
	}
}

// receive waits for a message, or for the stream's end.
func (e *events) receive() (proto.Message, error) {
	if m := e.next; m != nil {
		e.next = nil
		return m, nil
	}
	select {
	case m, more := <-e.sent:
		if !more {
			return nil, e.err
		}
		return m, nil
	case <-e.caller.Done():
		return nil, status.FromContextError(e.caller.Err()).Err()
	}
}

// RecvMsg implements grpc.ClientStream.
func (e *events) RecvMsg(into any) error {
	m, err := e.receive()
	if err != nil {
		return err
	}
	proto.Reset(into.(proto.Message))
	proto.Merge(into.(proto.Message), m)
	return nil
}

// Header implements grpc.ClientStream: it waits until there is a message or the end.
func (e *events) Header() (metadata.MD, error) {
	if e.next == nil {
		e.next, _ = e.receive()
	}
	return nil, nil
}

// Trailer implements grpc.ClientStream.
func (*events) Trailer() metadata.MD { return nil }

// CloseSend implements grpc.ClientStream.
func (*events) CloseSend() error { return nil }

// SendMsg implements grpc.ClientStream. The request was passed to open.
func (*events) SendMsg(any) error { return io.EOF }

// Context implements grpc.ClientStream.
func (e *events) Context() context.Context { return e.caller }
