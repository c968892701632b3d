package backend

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/mcpedge/mcpedge/tests/helpers/await"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// direct is the adapter of a target that implements the contract itself. Its description fails with
// missing, unless that is empty.
type direct struct {
	pb.BackendServiceClient
	pb.ToolServiceClient
	missing *atomic.Pointer[error]
}

func (d *direct) Describe(ctx context.Context, req *pb.DescribeRequest, opts ...grpc.CallOption) (*pb.DescribeResponse, error) {
	if err := d.missing.Load(); err != nil {
		return nil, *err
	}
	return d.BackendServiceClient.Describe(ctx, req, opts...)
}

func (*direct) Close()           {}
func (*direct) Notes() []string  { return nil }
func (*direct) Progress() string { return "" }

func (*direct) Confirmation(string) (string, func(context.Context) context.Context) { return "", nil }

func (*direct) Canonical(_ string, arguments []byte) ([]byte, error) { return arguments, nil }

// adapting adapts a target to itself.
func adapting(missing *atomic.Pointer[error]) func(*grpc.ClientConn, grpc.ClientConnInterface) Adapter {
	return func(target *grpc.ClientConn, calls grpc.ClientConnInterface) Adapter {
		return &direct{pb.NewBackendServiceClient(target), pb.NewToolServiceClient(calls), missing}
	}
}

// An adapter is read as soon as its target is ready.
func TestAdaptersAreReadWhenTheirTargetsAreReady(t *testing.T) {
	h := health.NewServer()
	h.SetServingStatus("", notServing)
	f := newFake("a")
	addr, _ := serveMore(t, f, func(s *grpc.Server) {
		healthpb.RegisterHealthServer(s, h)
		registerAll(s, f)
	})
	tune := fast
	tune.dialMin, tune.dialMax = time.Hour, time.Hour
	_, b, _ := started(t, Config{Target: addr, Adapt: adapting(new(atomic.Pointer[error]))}, tune)
	await.Until(t, "it is down", func() bool { return b.Status().State == Down })
	h.SetServingStatus("", serving)
	await.Until(t, "it is ready", func() bool { return b.Status().State == Ready })
}

// A target that cannot be described is down with its adapter's reason, logged once. It is ready
// once it can be described.
func TestAdaptersThatCannotDescribeTheirTargets(t *testing.T) {
	f := newFake("a")
	addr, _ := serveMore(t, f, func(s *grpc.Server) { registerAll(s, f) })
	missing := new(atomic.Pointer[error])
	why := errors.New("open /nowhere/shop.binpb: no such file or directory")
	missing.Store(&why)
	_, b, _ := started(t, Config{Target: addr, Adapt: adapting(missing)}, fast)
	await.Until(t, "it is down", func() bool { return b.Status().State == Down })
	if s := b.Status(); s.LastError != why.Error() || !slices.Equal(s.Problems, []string{why.Error()}) {
		t.Errorf("it is down: %q, %q", s.LastError, s.Problems)
	}
	missing.Store(nil)
	await.Until(t, "it is ready", func() bool { return b.Status().State == Ready })
	if problems := strings.Join(b.Status().Problems, "\n"); strings.Contains(problems, why.Error()) {
		t.Error(problems)
	}
}
