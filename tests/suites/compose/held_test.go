//go:build haproxy

package compose

import (
	"context"
	"net"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
)

// heldBackend serves one tool, hold, that runs until it is cancelled. It tells of its beginning, and of
// its end with the reason.
func heldBackend(t *testing.T, held, ended chan<- string) (addr string) {
	t.Helper()
	s := capability.New("held", "1.0.0")
	capability.AddTool(s, "hold", "Runs until it is cancelled", func(ctx context.Context, _ *capability.Call, _ struct{}) (string, error) {
		held <- "hold"
		<-ctx.Done()
		ended <- ctx.Err().Error()
		return "", ctx.Err()
	})
	return serveBackend(t, s)
}

// progressBackend serves one tool, half, that reports progress and runs until something comes from seen.
func progressBackend(t *testing.T, seen <-chan struct{}) (addr string) {
	t.Helper()
	s := capability.New("held", "1.0.0")
	capability.AddTool(s, "half", "Runs until its progress has come", func(ctx context.Context, c *capability.Call, _ struct{}) (string, error) {
		c.Progress(1, 2, "half")
		select {
		case <-seen:
			return "whole", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	return serveBackend(t, s)
}

// serveBackend serves until the test ends.
func serveBackend(t *testing.T, s *capability.Server) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the backend ended with %v", err)
		}
	})
	return l.Addr().String()
}
