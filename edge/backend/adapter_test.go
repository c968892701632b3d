package backend

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// direct is the adapter of a target that speaks the contract itself, at addr. It can be dialed while the target is connected.
type direct struct {
	Adapter
	target *grpc.ClientConn
	addr   string
}

func (d *direct) Dial(ctx context.Context) (net.Conn, error) {
	d.target.Connect()
	if d.target.GetState() != connectivity.Ready {
		return nil, errors.New("the target is away")
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", d.addr)
}

func (*direct) Close()           {}
func (*direct) Notes() []string  { return nil }
func (*direct) Progress() string { return "" }

// An adapter is dialed as soon as its target is ready, whatever backoff failed dials have led to.
func TestAdaptersAreDialedWhenTheirTargetsAreReady(t *testing.T) {
	h := health.NewServer()
	h.SetServingStatus("", notServing)
	f := newFake("a")
	addr, _ := serveMore(t, f, func(s *grpc.Server) {
		healthpb.RegisterHealthServer(s, h)
		registerAll(s, f)
	})
	tune := fast
	tune.dialMin, tune.dialMax = time.Hour, time.Hour
	cfg := Config{Target: addr, Adapt: func(target *grpc.ClientConn) Adapter { return &direct{target: target, addr: addr} }}
	_, b, _ := started(t, cfg, tune)
	await.Until(t, "it is down", func() bool { return b.Status().State == Down })
	h.SetServingStatus("", serving)
	await.Until(t, "it is ready", func() bool { return b.Status().State == Ready })
}
