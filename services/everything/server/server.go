// Package server is the service behind the official conformance suite: one fixture for each thing
// that the suite probes, under the name and with the answer it expects. It serves clients of every
// revision, and knows of none.
package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// Options adjust the service; the zero value is useful.
type Options struct {
	// WatchInterval is how often test://watched-resource changes; 0: 3 s.
	WatchInterval time.Duration
	// ReconnectionDelay is how long test_reconnection takes; 0: 3 s.
	ReconnectionDelay time.Duration
	// Logger is the service's own log; nil: slog.Default.
	Logger *slog.Logger
	// Capability are further options of the server, such as capability.WithServerOptions; applied last.
	Capability []capability.Option
}

// New returns the service, ready to be served. Its first tool succeeds without arguments, its first
// resource can be read, and everything has a description.
func New(o Options) *capability.Server {
	if o.WatchInterval == 0 {
		o.WatchInterval = 3 * time.Second
	}
	if o.ReconnectionDelay == 0 {
		o.ReconnectionDelay = 3 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := capability.New("mcpedge-everything", "1.0.0", append([]capability.Option{
		capability.WithTitle("Everything"),
		capability.WithDescription("The fixtures of the official conformance suite."),
		capability.WithInstructions("Fixtures for tests; nothing here does anything useful."),
		capability.WithListCache(5*time.Minute, true),
		capability.WithLogger(o.Logger),
	}, o.Capability...)...)
	addContent(s)
	addRunning(s, o.ReconnectionDelay)
	addAsking(s)
	addRounds(s)
	addTasks(s)
	addChanges(s)
	addSchemas(s)
	addResources(s, o.WatchInterval)
	addPrompts(s)
	return s
}

// none is a tool's input without arguments.
type none struct{}

// plain are the options of fixtures that may be called again and again.
func plain() []capability.ToolOption {
	return []capability.ToolOption{capability.ReadOnly(), capability.Idempotent(), capability.Destructive(false), capability.OpenWorld(false)}
}

// pause waits, unless the call ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
