package reflect

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// events is the stream of a call or a feed within this process: one goroutine of the adapter's sends, one of the caller's receives.
type events struct {
	// ctx ends with the caller's, and when the adapter is closed.
	ctx context.Context
	// caller is the caller's own.
	caller context.Context
	sent   chan proto.Message
	// err is the stream's end, once sent is closed: io.EOF, or a status.
	err error
	// next is the message that Header found; nil: none.
	next proto.Message
}

// open begins a stream that ends with run, in a goroutine of the adapter's.
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

// outcome is how a stream ends, as gRPC says it.
func outcome(err error) error {
	if err == nil {
		return io.EOF
	}
	if _, is := status.FromError(err); is {
		return err
	}
	return status.FromContextError(err).Err()
}

// send passes a message on, which is not the sender's any more. It waits for the receiver.
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

// SendMsg implements grpc.ClientStream: the request was there from the beginning.
func (*events) SendMsg(any) error { return io.EOF }

// Context implements grpc.ClientStream.
func (e *events) Context() context.Context { return e.caller }
