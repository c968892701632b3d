// Package commandtest serves backends to the tests of commands.
package commandtest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
)

// Tools serves a backend with n tools until the test ends, and returns its address. The tools are
// called name0000, name0001, …
func Tools(t testing.TB, name string, n int) string {
	t.Helper()
	s := capability.New(name, "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	for i := range n {
		capability.AddTool(s, fmt.Sprintf("%s%04d", name, i), "", func(context.Context, *capability.Call, struct{}) (string, error) { return "", nil })
	}
	return Serve(t, s)
}

// Serve serves a backend until the test ends, and returns its address.
func Serve(t testing.TB, s *capability.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}
