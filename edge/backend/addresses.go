package backend

import (
	"encoding/json"
	"fmt"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/roundrobin"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// addressPolicy is a balancer that hides addresses from round_robin: those whose health service
// does not report SERVING, and outliers. gRPC's own health check retries without a pause after a
// Watch ends, and treats the status of an unknown service as unhealthy. Its own outlier detection
// is available only with all of xDS, and counts every status but OK.
const addressPolicy = "mcpedge_addresses"

func init() { balancer.Register(addressBuilder{}) }

// addressConfig is the configuration of addressPolicy.
type addressConfig struct {
	serviceconfig.LoadBalancingConfig `json:"-"`
	// Health is the service whose health is watched; HealthOff disables that.
	Health string
	// Outliers are filled with their defaults; nil disables the detection.
	Outliers *Outliers
}

// serviceConfig balances over all addresses of the target except those that are unhealthy or
// outliers. An address without a health service is healthy. health is the service whose health is
// watched, or HealthOff; nil disables outlier detection.
func serviceConfig(o *Outliers, health string) string {
	policy := map[string]any{roundrobin.Name: struct{}{}}
	if o != nil || health != HealthOff {
		policy = map[string]any{addressPolicy: addressConfig{Health: health, Outliers: o.withDefaults()}}
	}
	text, err := json.Marshal(map[string]any{"loadBalancingConfig": []any{policy}})
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(text)
}

type addressBuilder struct{}

// Name implements balancer.Builder.
func (addressBuilder) Name() string { return addressPolicy }

// ParseConfig implements balancer.ConfigParser.
func (addressBuilder) ParseConfig(raw json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c := &addressConfig{}
	return c, json.Unmarshal(raw, c)
}

// Build implements balancer.Builder.
func (addressBuilder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	b := &addressBalancer{ClientConn: cc, target: opts.Target.String()}
	b.child = balancer.Get(roundrobin.Name).Build(b, opts)
	return b
}

// addressBalancer stands between a channel and round_robin: it is the Balancer of the one and the
// ClientConn of the other.
type addressBalancer struct {
	balancer.ClientConn
	target string
	child  balancer.Balancer
	// config and outliers are set by the first UpdateClientConnState, before there is a connection.
	config        *addressConfig
	outliers      *detector // nil disables outlier detection
	noHealthNoted sync.Once
}

// UpdateClientConnState implements balancer.Balancer. The configuration of a channel does not
// change.
func (b *addressBalancer) UpdateClientConnState(s balancer.ClientConnState) error {
	if b.config == nil {
		c, ok := s.BalancerConfig.(*addressConfig)
		if !ok {
			return fmt.Errorf("%s has no configuration", addressPolicy)
		}
		b.config = c
		if c.Outliers != nil {
			b.outliers = newDetector(*c.Outliers, b.target)
		}
	}
	s.BalancerConfig = nil
	return b.child.UpdateClientConnState(s)
}

// ResolverError implements balancer.Balancer.
func (b *addressBalancer) ResolverError(err error) { b.child.ResolverError(err) }

// UpdateSubConnState implements balancer.Balancer. gRPC does not call it, because every SubConn has
// a listener.
func (b *addressBalancer) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle implements balancer.Balancer.
func (b *addressBalancer) ExitIdle() { b.child.ExitIdle() }

// Close implements balancer.Balancer.
func (b *addressBalancer) Close() {
	b.child.Close()
	if b.outliers != nil {
		b.outliers.close()
	}
}

// NewSubConn implements balancer.ClientConn.
func (b *addressBalancer) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	//lint:ignore SA1019 The interface has no other way to make one; balancers of gRPC give it one address.
	sc, err := b.ClientConn.NewSubConn(addrs, opts)
	if err != nil {
		return nil, err
	}
	a := &address{SubConn: sc, of: b}
	if b.outliers != nil {
		a.judged = b.outliers.join(addrs[0].Addr, a)
	}
	return a, nil
}

// UpdateState implements balancer.ClientConn.
func (b *addressBalancer) UpdateState(s balancer.State) {
	s.Picker = addressPicker{s.Picker}
	b.ClientConn.UpdateState(s)
}

// addressPicker picks the SubConns of the channel, and counts the outcomes of calls to judged
// addresses.
type addressPicker struct{ balancer.Picker }

// Pick implements balancer.Picker.
func (p addressPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	result, err := p.Picker.Pick(info)
	a, ok := result.SubConn.(*address)
	if !ok {
		return result, err
	}
	result.SubConn = a.SubConn
	if a.judged != nil {
		done := result.Done
		result.Done = func(info balancer.DoneInfo) {
			a.judged.count(info.Err)
			if done != nil {
				done(info)
			}
		}
	}
	return result, err
}

// address is a connection to one address. round_robin sees it as ready while its health service
// says so and it is not ejected.
type address struct {
	balancer.SubConn
	of     *addressBalancer
	judged *addressStats // nil: no outlier detection

	mu       sync.Mutex
	ejected  bool
	listener *healthListener // nil if none is registered
}

// healthListener is what round_robin registered at an address. It is guarded by address.mu.
type healthListener struct {
	call func(balancer.SubConnState)
	// state is the last state that the health service reported; Idle before the first.
	state balancer.SubConnState
	// stop ends the watch. nil means that there is none.
	stop func()
}

// RegisterHealthListener implements balancer.SubConn.
func (a *address) RegisterHealthListener(call func(balancer.SubConnState)) {
	l := &healthListener{call: call, state: balancer.SubConnState{ConnectivityState: connectivity.Idle}}
	a.mu.Lock()
	before := a.listener
	if a.listener = l; call == nil {
		a.listener = nil
	}
	a.mu.Unlock()
	if before != nil && before.stop != nil {
		before.stop()
	}
	switch {
	case call == nil:
		a.SubConn.RegisterHealthListener(nil)
	case a.of.config.Health == HealthOff:
		a.report(l, balancer.SubConnState{ConnectivityState: connectivity.Ready})
	default:
		w := &healthWatch{of: a.of, report: func(s balancer.SubConnState) { a.report(l, s) }}
		_, stop := a.GetOrBuildProducer(w) // the end of the connection ends it, too
		a.mu.Lock()
		l.stop = stop
		a.mu.Unlock()
	}
}

// report passes a state of the health service on to a listener, unless another listener has been
// registered since.
func (a *address) report(l *healthListener, s balancer.SubConnState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.listener == l {
		l.state = s
		a.show()
	}
}

// eject hides the address, or shows it again.
func (a *address) eject(ejected bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ejected = ejected; a.listener != nil {
		a.show()
	}
}

// show calls the listener. a.mu is locked.
func (a *address) show() {
	call, s := a.listener.call, a.listener.state
	switch {
	case s.ConnectivityState == connectivity.Idle:
		return // until the health service has reported
	case a.ejected:
		s = balancer.SubConnState{ConnectivityState: connectivity.TransientFailure, ConnectionError: errEjected}
	}
	// The channel calls a new listener of its own once, in order with its other calls, if the
	// connection is still ready.
	a.SubConn.RegisterHealthListener(func(balancer.SubConnState) { call(s) })
}

// Shutdown implements balancer.SubConn.
func (a *address) Shutdown() {
	if a.judged != nil {
		a.of.outliers.leave(a.judged, a)
	}
	a.SubConn.Shutdown()
}
