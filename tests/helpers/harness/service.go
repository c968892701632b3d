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

// Service is a backend in the test's process.
type Service struct {
	Name string
	// Addr is its host:port. It can be used again after Stop.
	Addr string
	stop func()
}

// Serve serves s until the test ends, and fails the test if serving ends with an error.
func Serve(t testing.TB, name string, s *capability.Server) *Service {
	t.Helper()
	l, err := freeport.Listen()
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, name, s, l)
}

// ServeAt is Serve on a given address, such as that of a stopped service.
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

// Stop stops the service gracefully and waits. It may be called repeatedly.
func (s *Service) Stop() { s.stop() }

// Backend returns the configuration of the service as a backend.
func (s *Service) Backend() config.Backend { return config.Backend{Name: s.Name, Target: s.Addr} }
