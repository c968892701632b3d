package telemetry

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// Conn adds a connection to a backend to the edge's traces: the calls of sampled operations get
// otelgrpc spans. While tracing is off it returns c. Its streams must be read until they fail, or
// their context must end.
func (t *Telemetry) Conn(c grpc.ClientConnInterface) grpc.ClientConnInterface {
	if !t.Tracing() {
		return c
	}
	return &conn{ClientConnInterface: c, handler: otelgrpc.NewClientHandler(
		otelgrpc.WithTracerProvider(t.traces), otelgrpc.WithMeterProvider(noopmetric.NewMeterProvider()),
		otelgrpc.WithPropagators(propagation.TraceContext{}))}
}

// conn reports only sampled calls to the handler. As an option of the connection itself, the
// handler would get all calls, and would cost each more than the rest of tracing.
type conn struct {
	grpc.ClientConnInterface
	handler stats.Handler
}

// Invoke implements grpc.ClientConnInterface.
func (c *conn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	}
	rpc := c.begin(ctx, method)
	var to peer.Peer
	err := c.ClientConnInterface.Invoke(rpc.ctx, method, args, reply, append(opts[:len(opts):len(opts)], grpc.Peer(&to))...)
	rpc.end(to.Addr, err)
	return err
}

// NewStream implements grpc.ClientConnInterface.
func (c *conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return c.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	}
	rpc := c.begin(ctx, method)
	inner, err := c.ClientConnInterface.NewStream(rpc.ctx, desc, method, opts...)
	if err != nil {
		rpc.end(nil, err)
		return nil, err
	}
	s := &stream{ClientStream: inner, rpc: rpc}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = context.AfterFunc(rpc.ctx, s.cancelled)
	return s, nil
}

// rpc is one call that is reported to the handler.
type rpc struct {
	handler stats.Handler
	ctx     context.Context
}

func (c *conn) begin(ctx context.Context, method string) rpc {
	r := rpc{c.handler, c.handler.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: method})}
	r.handler.HandleRPC(r.ctx, &stats.Begin{Client: true})
	return r
}

// end reports how the call ended, and its peer; nil if it reached none.
func (r rpc) end(to net.Addr, err error) {
	if to != nil {
		r.handler.HandleRPC(r.ctx, &stats.OutHeader{Client: true, RemoteAddr: to})
	}
	r.handler.HandleRPC(r.ctx, &stats.End{Client: true, Error: err})
}

// stream is the stream of a sampled call.
type stream struct {
	grpc.ClientStream
	rpc  rpc
	stop func() bool

	mu sync.Mutex
	// to is the call's peer, once it has sent something.
	to               net.Addr
	receiving, ended bool
}

// RecvMsg implements grpc.ClientStream.
func (s *stream) RecvMsg(m any) error {
	s.mu.Lock()
	s.receiving = true
	s.mu.Unlock()
	err := s.ClientStream.RecvMsg(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receiving = false
	if s.to == nil {
		if p, ok := peer.FromContext(s.ClientStream.Context()); ok {
			s.to = p.Addr
		}
	}
	switch cause := s.rpc.ctx.Err(); {
	case errors.Is(err, io.EOF):
		s.end(nil)
	case err != nil:
		s.end(err)
	case cause != nil:
		s.end(status.FromContextError(cause).Err())
	}
	return err
}

// cancelled ends a call that no goroutine reads any more. A reading goroutine gets the error
// itself.
func (s *stream) cancelled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.receiving {
		s.end(status.FromContextError(s.rpc.ctx.Err()).Err())
	}
}

// end is called with s.mu held. Only the first call has an effect.
func (s *stream) end(err error) {
	if s.ended {
		return
	}
	s.ended = true
	s.stop()
	s.rpc.end(s.to, err)
}
