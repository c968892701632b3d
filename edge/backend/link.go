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

// signals is what the keeper is told by the connection and the feeds. They are levels, not events:
// what the keeper has not taken yet coalesces.
type signals struct {
	wake chan struct{} // capacity 1

	mu   sync.Mutex
	link connectivity.State
	// epoch is how often the connection became ready.
	epoch uint64
	// dirty are the kinds to be listed, told those of them that are known to have changed.
	dirty, told Kinds
}

// signal is what signals held when they were taken.
type signal struct {
	link        connectivity.State
	epoch       uint64
	dirty, told Kinds
}

// take empties the kinds.
func (s *signals) take() signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := signal{s.link, s.epoch, s.dirty, s.told}
	s.dirty, s.told = 0, 0
	return taken
}

func (s *signals) setLink(state connectivity.State) {
	s.mu.Lock()
	s.link = state
	if state == connectivity.Ready {
		s.epoch++
	}
	s.mu.Unlock()
	s.ring()
}

// mark asks for a kind to be listed; told: it is known to have changed.
func (s *signals) mark(kind Kinds, told bool) {
	s.mu.Lock()
	s.dirty |= kind
	if told {
		s.told |= kind
	}
	s.mu.Unlock()
	s.ring()
}

func (s *signals) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// followLink keeps the connection up and tells the keeper of its state.
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

// reason finds out why the connection fails: the channel keeps it to itself, but fails calls with it
// at once. nil: it works again.
func (b *Backend) reason(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := b.describe(ctx)
	if err == nil {
		return nil
	}
	// A name that resolves to nothing leaves the balancer without addresses, which is all the status says.
	if unknown := b.unresolved(ctx); unknown != nil {
		return unknown
	}
	return err
}

// unresolved says that DNS does not know the host of the target; nil: it does, or is not asked.
func (b *Backend) unresolved(ctx context.Context) error {
	target := b.cfg.Target
	if scheme, rest, found := strings.Cut(target, ":///"); found {
		if scheme != "dns" {
			return nil
		}
		target = rest
	}
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = target // gRPC takes a target without a port, too
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
