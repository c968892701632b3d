package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/connectivity"
)

// signals carries the reports of the connection and the feeds to the refresher. They are levels,
// not events: reports that the refresher has not taken yet coalesce.
type signals struct {
	wake chan struct{} // capacity 1

	mu   sync.Mutex
	link connectivity.State
	// epoch is the number of times that the connection became ready.
	epoch uint64
	// dirty are the kinds to be listed; reported are those of them for which the backend reported a
	// change.
	dirty, reported Kinds
}

// signal is a snapshot of signals, made by take.
type signal struct {
	link            connectivity.State
	epoch           uint64
	dirty, reported Kinds
}

// take returns the signals and clears the kinds.
func (s *signals) take() signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := signal{s.link, s.epoch, s.dirty, s.reported}
	s.dirty, s.reported = 0, 0
	return taken
}

func (s *signals) setLink(state connectivity.State) {
	s.mu.Lock()
	s.link = state
	if state == connectivity.Ready {
		s.epoch++
	}
	s.mu.Unlock()
	s.notify()
}

// mark requests that a kind be listed. reported is true if the backend reported that it changed.
func (s *signals) mark(kind Kinds, reported bool) {
	s.mu.Lock()
	s.dirty |= kind
	if reported {
		s.reported |= kind
	}
	s.mu.Unlock()
	s.notify()
}

func (s *signals) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// followLink reconnects whenever the connection is idle, and signals its state to the refresher
// until ctx ends.
func (b *Backend) followLink(ctx context.Context) {
	for {
		state := b.conn.GetState()
		switch state {
		case connectivity.Idle:
			b.conn.Connect()
		case connectivity.Ready:
			b.side.ResetConnectBackoff()
		}
		b.signals.setLink(state)
		if !b.conn.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// reason returns why the connection fails, nil if it works again. A gRPC channel has no method for
// that, but fails calls with it at once.
func (b *Backend) reason(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := b.describe(ctx)
	if err == nil {
		return nil
	}
	// For a name that resolves to nothing, the status says only that the balancer has no addresses.
	if proxyOf(b.cfg.Target) == "" { // a proxy resolves names itself
		if unknown := b.unresolved(ctx); unknown != nil {
			return unknown
		}
	}
	return explain(err, b.cfg.Target, b.cfg.Credentials != nil)
}

// unresolved returns why the target has no address: the reason of its Resolver, or that DNS does
// not know its host. nil means that it has an address, or that this is unknown.
func (b *Backend) unresolved(ctx context.Context) error {
	target := b.cfg.Target
	if why, ok := b.cfg.Resolver.(Explainer); ok {
		return why.Unresolved(target)
	}
	if scheme, rest, found := strings.Cut(target, ":///"); found {
		if scheme != "dns" {
			return nil
		}
		target = rest
	}
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = target // gRPC accepts a target without a port, too
	}
	if strings.ContainsAny(host, "/:") || net.ParseIP(host) != nil {
		return nil
	}
	var unknown *net.DNSError
	if _, err := net.DefaultResolver.LookupHost(ctx, host); errors.As(err, &unknown) && unknown.IsNotFound {
		return fmt.Errorf("the name %q in the target %q is not known to DNS: check its spelling, and that it is known where the edge runs", host, b.cfg.Target)
	}
	return nil
}
