package harness

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// Service is a backend that serves in the test's process.
type Service struct {
	Name string
	// Addr is its host:port, which may be served again once it is stopped.
	Addr string
	stop func()
}

// Serve serves s until the test ends, and fails the test when it ends with an error.
func Serve(t testing.TB, name string, s *capability.Server) *Service {
	t.Helper()
	l, err := freeport.Listen()
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, name, s, l)
}

// ServeAt is Serve on an address, such as that of a service that was stopped.
func ServeAt(t testing.TB, name, addr string, s *capability.Server) *Service {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, name, s, l)
}

func serve(t testing.TB, name string, s *capability.Server, l net.Listener) *Service {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("backend %s ended with: %v", name, err)
		}
	})
	t.Cleanup(stop)
	return &Service{Name: name, Addr: l.Addr().String(), stop: stop}
}

// Stop ends the service in order and waits for that. It may be called again.
func (s *Service) Stop() { s.stop() }

// Backend is the configuration of the service.
func (s *Service) Backend() config.Backend { return config.Backend{Name: s.Name, Target: s.Addr} }
