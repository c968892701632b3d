package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// HealthOff is the Health of a Config that disables health checks.
const HealthOff = "off"

// healthWatch follows the health service at one connection.
type healthWatch struct {
	of *addressBalancer
	// report is called with each state that the service reports, by one goroutine.
	report func(balancer.SubConnState)
}

// Build implements balancer.ProducerBuilder: it begins the watch.
func (w *healthWatch) Build(cc any) (balancer.Producer, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.run(ctx, cc.(grpc.ClientConnInterface))
	}()
	return w, cancel
}

// Pauses between two watches at one connection.
const (
	healthPauseMin = time.Second
	healthPauseMax = 30 * time.Second
)

// run watches until the connection ends, or until it has no health service. After a watch that
// reported a state has ended, that state remains until the next watch has begun or failed.
func (w *healthWatch) run(ctx context.Context, cc grpc.ClientConnInterface) {
	pause := healthPauseMin
	for said := false; ; {
		began := time.Now()
		spoke, err := w.watch(ctx, cc)
		if ctx.Err() != nil {
			return
		}
		code := status.Code(err)
		switch {
		case code == codes.Unimplemented, code == codes.NotFound && w.of.config.Health == "":
			w.noService(err)
			w.report(balancer.SubConnState{ConnectivityState: connectivity.Ready})
			return
		case !spoke && (!said || code != codes.OK):
			w.unhealthy(fmt.Errorf("its health service %q answers: %w", w.of.config.Health, err))
		}
		said = spoke
		if time.Since(began) > pause {
			pause = healthPauseMin
		}
		select {
		case <-time.After(pause + rand.N(pause/4)): // #nosec G404 -- a pause is no secret
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, healthPauseMax)
	}
}

// watch reports the states of one Watch until it ends. spoke is true if it received a state.
func (w *healthWatch) watch(ctx context.Context, cc grpc.ClientConnInterface) (spoke bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := healthpb.NewHealthClient(cc).Watch(ctx, &healthpb.HealthCheckRequest{Service: w.of.config.Health})
	if err != nil {
		return false, err
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return spoke, nil
		}
		if err != nil {
			return spoke, err
		}
		spoke = true
		switch s := res.GetStatus(); {
		case s == healthpb.HealthCheckResponse_SERVING:
			w.report(balancer.SubConnState{ConnectivityState: connectivity.Ready})
		case s == healthpb.HealthCheckResponse_SERVICE_UNKNOWN && w.of.config.Health == "":
			w.noService(errors.New(s.String()))
			w.report(balancer.SubConnState{ConnectivityState: connectivity.Ready})
		default:
			w.unhealthy(fmt.Errorf("its health service says %s of %q", s, w.of.config.Health))
		}
	}
}

func (w *healthWatch) unhealthy(why error) {
	w.report(balancer.SubConnState{ConnectivityState: connectivity.TransientFailure, ConnectionError: why})
}

// noService logs once that the target has no health service for the whole server.
func (w *healthWatch) noService(why error) {
	w.of.noHealthNoted.Do(func() {
		level := slog.LevelInfo
		if status.Code(why) == codes.Unimplemented { // as most have none
			level = slog.LevelDebug
		}
		slog.Log(context.Background(), level, "the target has no health service: its addresses count as healthy while they are connected",
			"target", w.of.target, "answer", why.Error())
	})
}
