package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

// HealthOff is the Health of a Config whose addresses are not asked.
const HealthOff = "off"

// healthPolicy is a balancer that hides from its child those addresses whose standard health service does not say SERVING.
// gRPC's own health check asks without a pause where a Watch ends by itself, and takes an answer that there is no such
// service for unhealthy.
const healthPolicy = "mcpedge_health"

func init() { balancer.Register(healthBuilder{}) }

type healthBuilder struct{}

// healthConfig is the configuration of the balancer: {"service": "", "child": [{"round_robin": {}}]}.
type healthConfig struct {
	serviceconfig.LoadBalancingConfig
	service string
	builder balancer.Builder
	child   serviceconfig.LoadBalancingConfig
}

// Name implements balancer.Builder.
func (healthBuilder) Name() string { return healthPolicy }

// Build implements balancer.Builder. The child is built with the first state, whose configuration names it.
func (healthBuilder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return &healthBalancer{ClientConn: cc, opts: opts}
}

// ParseConfig implements balancer.ConfigParser.
func (healthBuilder) ParseConfig(raw json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var read struct {
		Service string
		Child   []map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return nil, err
	}
	for _, child := range read.Child {
		for name, settings := range child {
			out := &healthConfig{service: read.Service, builder: balancer.Get(name)}
			if out.builder == nil {
				return nil, fmt.Errorf("the balancer %q is not known", name)
			}
			if parser, ok := out.builder.(balancer.ConfigParser); ok {
				var err error
				if out.child, err = parser.ParseConfig(settings); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
	}
	return nil, errors.New("there is no child")
}

// healthBalancer stands between a channel and its balancer: it is the one's Balancer and the other's ClientConn.
type healthBalancer struct {
	balancer.ClientConn
	opts    balancer.BuildOptions
	child   balancer.Balancer // nil: not built yet
	service string
	none    sync.Once
}

// UpdateClientConnState implements balancer.Balancer.
func (b *healthBalancer) UpdateClientConnState(s balancer.ClientConnState) error {
	cfg, ok := s.BalancerConfig.(*healthConfig)
	if !ok {
		return fmt.Errorf("%s has no configuration", healthPolicy)
	}
	if b.child == nil {
		b.service = cfg.service
		b.child = cfg.builder.Build(b, b.opts)
	}
	s.BalancerConfig = cfg.child
	return b.child.UpdateClientConnState(s)
}

// ResolverError implements balancer.Balancer.
func (b *healthBalancer) ResolverError(err error) {
	if b.child == nil {
		b.ClientConn.UpdateState(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: base.NewErrPicker(err)})
		return
	}
	b.child.ResolverError(err)
}

// UpdateSubConnState implements balancer.Balancer. It is not called: every SubConn has a listener.
func (b *healthBalancer) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle implements balancer.Balancer.
func (b *healthBalancer) ExitIdle() {
	if b.child != nil {
		b.child.ExitIdle()
	}
}

// Close implements balancer.Balancer.
func (b *healthBalancer) Close() {
	if b.child != nil {
		b.child.Close()
	}
}

// NewSubConn implements balancer.ClientConn.
func (b *healthBalancer) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	//lint:ignore SA1019 The interface has no other way to make one; balancers of gRPC give it one address.
	sc, err := b.ClientConn.NewSubConn(addrs, opts)
	if err != nil {
		return nil, err
	}
	return &checked{SubConn: sc, of: b}, nil
}

// UpdateState implements balancer.ClientConn.
func (b *healthBalancer) UpdateState(s balancer.State) {
	s.Picker = unchecked{s.Picker}
	b.ClientConn.UpdateState(s)
}

// unchecked picks the channel's own connections.
type unchecked struct{ balancer.Picker }

// Pick implements balancer.Picker.
func (p unchecked) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	result, err := p.Picker.Pick(info)
	if sc, ok := result.SubConn.(*checked); ok {
		result.SubConn = sc.SubConn
	}
	return result, err
}

// checked is a connection whose health is that which its health service says.
type checked struct {
	balancer.SubConn
	of *healthBalancer

	mu   sync.Mutex
	stop func() // ends the watch before; nil: there is none
}

// RegisterHealthListener implements balancer.SubConn.
func (c *checked) RegisterHealthListener(listener func(balancer.SubConnState)) {
	c.mu.Lock()
	stop := c.stop
	c.stop = nil
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
	if listener == nil {
		c.SubConn.RegisterHealthListener(nil)
		return
	}
	// The listener of the connection below hears once that it is ready, among the channel's other calls, unless it is not any
	// more. So each state is told by registering who tells it.
	tell := func(s balancer.SubConnState) {
		c.SubConn.RegisterHealthListener(func(balancer.SubConnState) { listener(s) })
	}
	w := &healthWatch{of: c.of, tell: tell}
	_, stop = c.GetOrBuildProducer(w) // its end is that of the connection, too
	c.mu.Lock()
	c.stop = stop
	c.mu.Unlock()
}

// healthWatch follows the health service at one connection.
type healthWatch struct {
	of   *healthBalancer
	tell func(balancer.SubConnState)
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

// run watches until the connection ends, or until it has no health service. While a watch that said something has ended,
// what it said last holds until the next one has begun or failed.
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
		case code == codes.Unimplemented, code == codes.NotFound && w.of.service == "":
			w.noService(err)
			w.tell(balancer.SubConnState{ConnectivityState: connectivity.Ready})
			return
		case !spoke && (!said || code != codes.OK):
			w.unhealthy(fmt.Errorf("its health service %q answers: %w", w.of.service, err))
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

// watch tells of the states of one Watch until it ends; spoke says that there was one.
func (w *healthWatch) watch(ctx context.Context, cc grpc.ClientConnInterface) (spoke bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := healthpb.NewHealthClient(cc).Watch(ctx, &healthpb.HealthCheckRequest{Service: w.of.service})
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
			w.tell(balancer.SubConnState{ConnectivityState: connectivity.Ready})
		case s == healthpb.HealthCheckResponse_SERVICE_UNKNOWN && w.of.service == "":
			w.noService(errors.New(s.String()))
			w.tell(balancer.SubConnState{ConnectivityState: connectivity.Ready})
		default:
			w.unhealthy(fmt.Errorf("its health service says %s of %q", s, w.of.service))
		}
	}
}

func (w *healthWatch) unhealthy(why error) {
	w.tell(balancer.SubConnState{ConnectivityState: connectivity.TransientFailure, ConnectionError: why})
}

// noService notes once that the target has no health service for all of it.
func (w *healthWatch) noService(why error) {
	w.of.none.Do(func() {
		level := slog.LevelInfo
		if status.Code(why) == codes.Unimplemented { // as most have none
			level = slog.LevelDebug
		}
		slog.Log(context.Background(), level, "the target has no health service: its addresses count as healthy while they are connected",
			"target", w.of.opts.Target.String(), "answer", why.Error())
	})
}
