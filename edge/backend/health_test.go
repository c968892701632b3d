package backend

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

const (
	serving    = healthpb.HealthCheckResponse_SERVING
	notServing = healthpb.HealthCheckResponse_NOT_SERVING
	notKnown   = healthpb.HealthCheckResponse_SERVICE_UNKNOWN
)

// watched is a health service with the test's Watch function, which gets the number of the watch,
// from 1.
type watched struct {
	healthpb.UnimplementedHealthServer
	watches atomic.Int32
	watch   func(n int32, send func(healthpb.HealthCheckResponse_ServingStatus), ctx context.Context) error
}

func (w *watched) Watch(_ *healthpb.HealthCheckRequest, s healthpb.Health_WatchServer) error {
	return w.watch(w.watches.Add(1), func(state healthpb.HealthCheckResponse_ServingStatus) {
		_ = s.Send(&healthpb.HealthCheckResponse{Status: state})
	}, s.Context())
}

// unwell serves a fake beside a health service.
func unwell(t *testing.T, h healthpb.HealthServer, cfg Config) (*Pool, *Backend) {
	t.Helper()
	f := newFake("a")
	addr, _ := serveMore(t, f, func(s *grpc.Server) {
		healthpb.RegisterHealthServer(s, h)
		registerAll(s, f)
	})
	cfg.Target = addr
	p, b, _ := started(t, cfg, fast)
	return p, b
}

// The states of common health services have their effect, and no service is queried more than once
// a second.
func TestHealthServices(t *testing.T) {
	official := health.NewServer()
	official.SetServingStatus("shop", serving)
	unaware := health.NewServer()
	unaware.SetServingStatus("", notKnown) // as servers that have no status for the server as a whole
	script := func(watch func(n int32, send func(healthpb.HealthCheckResponse_ServingStatus), ctx context.Context) error) *watched {
		return &watched{watch: watch}
	}
	type ctx = context.Context
	type send = func(healthpb.HealthCheckResponse_ServingStatus)
	for name, c := range map[string]struct {
		health  healthpb.HealthServer
		service string
		up      bool
	}{
		"the official one":                  {official, "", true},
		"the official one, a service":       {official, "shop", true},
		"the official one, another service": {official, "gone", false},
		"one that does not know itself":     {unaware, "", true},
		"none is asked": {script(func(_ int32, send send, ctx ctx) error {
			send(notServing)
			<-ctx.Done()
			return nil
		}), HealthOff, true},
		"one that says SERVING and ends": {script(func(_ int32, send send, _ ctx) error {
			send(serving)
			return nil
		}), "", true},
		"one that says SERVING and breaks off": {script(func(_ int32, send send, _ ctx) error {
			send(serving)
			return status.Error(codes.Unavailable, "stream is too old")
		}), "", true},
		"one that answers NOT_FOUND":                {script(func(int32, send, ctx) error { return status.Error(codes.NotFound, "unknown service") }), "", true},
		"one that answers NOT_FOUND for a service":  {script(func(int32, send, ctx) error { return status.Error(codes.NotFound, "unknown service") }), "shop", false},
		"one that has no Watch":                     {script(func(int32, send, ctx) error { return status.Error(codes.Unimplemented, "no Watch") }), "", true},
		"one that answers INTERNAL":                 {script(func(int32, send, ctx) error { return status.Error(codes.Internal, "broken") }), "", false},
		"one that is not serving, and ends at once": {script(func(_ int32, send send, _ ctx) error { send(notServing); return nil }), "", false},
		"one that ends without a word":              {script(func(int32, send, ctx) error { return nil }), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			p, b := unwell(t, c.health, Config{Health: c.service})
			ready(t, p)
			if up := b.Status().State == Ready; up != c.up {
				t.Fatalf("it is up: %v, %+v", up, b.Status())
			}
			time.Sleep(1500 * time.Millisecond) // long enough for a third watch
			if up := b.Status().State == Ready; up != c.up {
				t.Errorf("later it is up: %v, %+v", up, b.Status())
			}
			if w, ok := c.health.(*watched); ok {
				n := w.watches.Load()
				if took := time.Since(begun); n > 1+int32(took/time.Second) { // #nosec G115 -- some seconds
					t.Errorf("it was asked %d times in %v", n, took)
				}
			}
		})
	}
}

// A health service that says so takes the backend out and back in, also after watches that ended.
func TestHealthChanges(t *testing.T) {
	h := health.NewServer()
	p, b := unwell(t, h, Config{})
	ready(t, p)
	for range 3 {
		h.SetServingStatus("", notServing)
		await.Until(t, "it is down", func() bool { return b.Status().State == Down })
		h.SetServingStatus("", serving)
		await.Until(t, "it is back", func() bool { return b.Status().State == Ready })
	}
	h.Shutdown()
	await.Until(t, "it is down while it shuts down", func() bool { return b.Status().State == Down })
}

// A watch that ends for good ends with UNAVAILABLE or the like again: then it is not healthy.
func TestHealthThatFails(t *testing.T) {
	fails := make(chan struct{})
	w := &watched{watch: func(n int32, send func(healthpb.HealthCheckResponse_ServingStatus), ctx context.Context) error {
		switch n {
		case 1:
			send(serving)
		case 2:
			<-fails
		default: // must not be needed
			<-ctx.Done()
		}
		return status.Error(codes.Unavailable, "going")
	}}
	p, b := unwell(t, w, Config{})
	ready(t, p)
	await.Until(t, "it is up in the second watch", func() bool { return w.watches.Load() == 2 && b.Status().State == Ready })
	close(fails)
	await.Until(t, "it is down", func() bool { return b.Status().State == Down })
}
