// Package server implements the backend of the official conformance suite: one fixture for each
// probe of the suite, with the expected name and answer. It serves clients of every revision in the
// same way.
package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// Options configure the service. The zero value is usable.
type Options struct {
	// WatchInterval is the interval of changes of test://watched-resource. 0 means 3 s.
	WatchInterval time.Duration
	// ReconnectionDelay is the duration of test_reconnection. 0 means 3 s.
	ReconnectionDelay time.Duration
	// Logger is the logger of the service. nil uses slog.Default.
	Logger *slog.Logger
	// Capability are further options of the server, such as capability.WithServerOptions. They are
	// applied last.
	Capability []capability.Option
}

// New returns the service, ready to serve. Its first tool succeeds without arguments, its first
// resource is readable, and every entry has a description.
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

// none is the input of a tool without arguments.
type none struct{}

// plain returns the options of fixtures that may be called repeatedly.
func plain() []capability.ToolOption {
	return []capability.ToolOption{capability.ReadOnly(), capability.Idempotent(), capability.Destructive(false), capability.OpenWorld(false)}
}

// pause waits for d, or returns an error if the call ends before.
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
