package reflect

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// stream opens a stream of an adapter's.
func stream(t *testing.T, ctx context.Context, a *Adapter, run func(*events) error) grpc.ServerStreamingClient[pb.CallToolResponse] {
	t.Helper()
	s, err := open[pb.CallToolRequest, pb.CallToolResponse](ctx, a, run)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newIdle(t *testing.T) *Adapter {
	a := New(nil, nil, Options{Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(a.Close)
	return a
}

func progressed(n float64) *pb.CallToolResponse {
	return &pb.CallToolResponse{Message: &pb.CallToolResponse_Progress{Progress: &pb.Progress{Progress: n}}}
}

// Header returns when there is a message, which is received afterwards, or the end, as of any stream of gRPC: who counts memory waits for it.
func TestHeaderWaitsForTheFirstMessage(t *testing.T) {
	goOn := make(chan struct{})
	s := stream(t, t.Context(), newIdle(t), func(e *events) error {
		<-goOn
		if err := e.send(progressed(1)); err != nil {
			return err
		}
		return e.send(progressed(2))
	})
	header := make(chan error, 1)
	go func() {
		_, err := s.Header()
		header <- err
	}()
	select {
	case <-header:
		t.Error("Header has not waited")
	default:
	}
	close(goOn)
	if err := await.Receive(t, "the header", header); err != nil {
		t.Error(err)
	}
	for n := 1.0; n <= 2; n++ {
		if m, err := s.Recv(); err != nil || m.GetProgress().GetProgress() != n {
			t.Errorf("%v, %v", m, err)
		}
	}
	for range 2 {
		_, _ = s.Header()
		if m, err := s.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("%v, %v", m, err)
		}
	}
}

// A stream ends with a status of gRPC, whatever it ends by.
func TestHowStreamsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want codes.Code
	}{
		"a status":        {status.Error(codes.DataLoss, "lost"), codes.DataLoss},
		"a context":       {context.DeadlineExceeded, codes.DeadlineExceeded},
		"something else":  {errors.New("odd"), codes.Unknown},
		"the target away": {awayError{status.Error(codes.Unimplemented, "no reflection")}, codes.Unavailable},
	} {
		s := stream(t, t.Context(), newIdle(t), func(*events) error { return c.err })
		if _, err := s.Recv(); status.Code(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Neither end waits for the other when the caller has left or the adapter is closed.
func TestStreamsThatNobodyReads(t *testing.T) {
	a := newIdle(t)
	for _, c := range []struct {
		name string
		end  func(leave context.CancelFunc)
	}{
		{"the caller leaves", func(leave context.CancelFunc) { leave() }},
		{"the adapter is closed", func(context.CancelFunc) { a.Close() }},
	} {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		ended := make(chan error, 1)
		s := stream(t, ctx, a, func(e *events) error {
			err := e.send(progressed(1))
			ended <- err
			return err
		})
		c.end(leave)
		if err := await.Receive(t, c.name, ended); status.Code(err) != codes.Canceled {
			t.Errorf("%s: sending gave %v", c.name, err)
		}
		if _, err := s.Recv(); status.Code(err) != codes.Canceled {
			t.Errorf("%s: receiving gave %v", c.name, err)
		}
	}
}
