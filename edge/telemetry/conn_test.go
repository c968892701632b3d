package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// serveGRPC serves methods named after what they do, and reports the traceparent of each.
func serveGRPC(t *testing.T, parents chan<- string) (*grpc.ClientConn, *net.TCPAddr) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		ctx := stream.Context()
		md, _ := metadata.FromIncomingContext(ctx)
		parents <- strings.Join(md.Get("traceparent"), ",")
		method, _ := grpc.MethodFromServerStream(stream)
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		if method == "/test.Service/Fail" {
			return status.Error(grpccodes.DataLoss, "all is lost")
		}
		if err := stream.SendMsg(&emptypb.Empty{}); err != nil || method != "/test.Service/Hang" {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}))
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	c, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, l.Addr().(*net.TCPAddr)
}

// unary makes a call and reads no stream.
func unary(ctx context.Context, c grpc.ClientConnInterface, method string) error {
	return c.Invoke(ctx, "/test.Service/"+method, &emptypb.Empty{}, &emptypb.Empty{})
}

// open makes a call whose answers are a stream.
func open(ctx context.Context, c grpc.ClientConnInterface, method string) (grpc.ClientStream, error) {
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/test.Service/"+method)
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(&emptypb.Empty{}); err != nil {
		return nil, err
	}
	return s, s.CloseSend()
}

// drain reads a stream to its end.
func drain(s grpc.ClientStream) error {
	for {
		if err := s.RecvMsg(&emptypb.Empty{}); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Every call of a sampled operation has one span, however it ends, with its outcome and peer; the
// backend continues that span.
func TestCallsOfSampledOperationsHaveSpans(t *testing.T) {
	parents := make(chan string, 1)
	c, addr := serveGRPC(t, parents)
	exported := tracetest.NewInMemoryExporter()
	tel := newTelemetry(t, Options{SpanProcessors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(exported)}})
	conn := tel.Conn(c)
	here := fmt.Sprintf("server.address=127.0.0.1 server.port=%d", addr.Port)
	for name, c := range map[string]struct {
		call func(context.Context) error
		want string
	}{
		"unary": {func(ctx context.Context) error { return unary(ctx, conn, "Work") },
			"test.Service/Work Unset rpc.response.status_code=OK " + here},
		"unary that fails": {func(ctx context.Context) error { return unary(ctx, conn, "Fail") },
			"test.Service/Fail Error all is lost rpc.response.status_code=DATA_LOSS " + here},
		"stream": {func(ctx context.Context) error {
			s, err := open(ctx, conn, "Work")
			if err != nil {
				return err
			}
			return drain(s)
		}, "test.Service/Work Unset rpc.response.status_code=OK " + here},
		"stream that fails": {func(ctx context.Context) error {
			s, err := open(ctx, conn, "Fail")
			if err != nil {
				return err
			}
			return drain(s)
		}, "test.Service/Fail Error all is lost rpc.response.status_code=DATA_LOSS " + here},
		"stream that is left while it has no reader": {func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			s, err := open(ctx, conn, "Hang")
			if err != nil {
				return err
			}
			return s.RecvMsg(&emptypb.Empty{})
		}, "test.Service/Hang Error context canceled rpc.response.status_code=CANCELLED " + here},
		"stream that is left by who reads it": {func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			s, err := open(ctx, conn, "Hang")
			if err != nil {
				return err
			}
			if err := s.RecvMsg(&emptypb.Empty{}); err != nil {
				return err
			}
			defer time.AfterFunc(20*time.Millisecond, cancel).Stop()
			return drain(s)
		}, "test.Service/Hang Error context canceled rpc.response.status_code=CANCELLED " + here},
	} {
		t.Run(name, func(t *testing.T) {
			exported.Reset()
			ctx, op := tel.Begin(t.Context(), &Request{Method: mcp.MethodToolsCall})
			err := c.call(ctx)
			span := awaitSpan(t, exported)
			if got := describeSpan(span); got != c.want {
				t.Errorf("after %v the span is\n%s, want\n%s", err, got, c.want)
			}
			if span.Parent.SpanID() != op.SpanContext().SpanID() {
				t.Errorf("its parent is %s", span.Parent.SpanID())
			}
			if got := <-parents; got != FormatParent(span.SpanContext) {
				t.Errorf("the backend continues %s, not with %s", got, FormatParent(span.SpanContext))
			}
			op.End(&Outcome{})
			if n := len(exported.GetSpans()); n != 2 {
				t.Errorf("there are %d spans", n)
			}
		})
	}
}

// A call that reaches no backend has a span that says so.
func TestCallsThatGoNowhereHaveSpans(t *testing.T) {
	c, _ := serveGRPC(t, nil)
	_ = c.Close()
	exported := tracetest.NewInMemoryExporter()
	tel := newTelemetry(t, Options{SpanProcessors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(exported)}})
	ctx, _ := tel.Begin(t.Context(), &Request{Method: mcp.MethodToolsCall})
	for name, call := range map[string]func() error{
		"unary":  func() error { return unary(ctx, tel.Conn(c), "Work") },
		"stream": func() error { _, err := open(ctx, tel.Conn(c), "Work"); return err },
	} {
		exported.Reset()
		if err := call(); status.Code(err) != grpccodes.Canceled {
			t.Errorf("%s: %v", name, err)
		}
		want := "test.Service/Work Error grpc: the client connection is closing rpc.response.status_code=CANCELLED"
		if got := describeSpan(awaitSpan(t, exported)); got != want {
			t.Errorf("%s: the span is\n%s, want\n%s", name, got, want)
		}
	}
}

// Unsampled calls use the connection unchanged.
func TestCallsThatAreNotSampledAreLeftAlone(t *testing.T) {
	parents := make(chan string, 2)
	c, _ := serveGRPC(t, parents)
	if tel := newTelemetry(t, Options{}); tel.Conn(c) != grpc.ClientConnInterface(c) {
		t.Error("the connection is watched while tracing is off")
	}
	exported := tracetest.NewInMemoryExporter()
	tel := newTelemetry(t, Options{
		SpanProcessors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(exported)}, Sampler: sdktrace.NeverSample(),
	})
	ctx, op := tel.Begin(t.Context(), &Request{Method: mcp.MethodToolsCall})
	defer op.End(&Outcome{})
	if err := unary(ctx, tel.Conn(c), "Work"); err != nil {
		t.Fatal(err)
	}
	s, err := open(ctx, tel.Conn(c), "Work")
	if err != nil {
		t.Fatal(err)
	}
	if _, watched := s.(*stream); watched || drain(s) != nil {
		t.Errorf("the stream is a %T", s)
	}
	if n := len(exported.GetSpans()); n != 0 {
		t.Errorf("there are %d spans", n)
	}
}

// awaitSpan returns the first span that ends.
func awaitSpan(t *testing.T, exported *tracetest.InMemoryExporter) tracetest.SpanStub {
	t.Helper()
	var spans tracetest.SpanStubs
	await.Until(t, "a span to end", func() bool {
		spans = exported.GetSpans()
		return len(spans) > 0
	})
	return spans[0]
}

// describeSpan formats a call's name, status and peer.
func describeSpan(s tracetest.SpanStub) string {
	text := s.Name + " " + s.Status.Code.String()
	if s.Status.Description != "" {
		text += " " + s.Status.Description
	}
	for _, key := range []string{"rpc.response.status_code", "server.address", "server.port"} {
		for _, kv := range s.Attributes {
			if string(kv.Key) == key {
				text += " " + key + "=" + kv.Value.String()
			}
		}
	}
	return text
}
