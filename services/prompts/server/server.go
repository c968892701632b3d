// Package server implements the bundled prompts service: prompts written in Go, and prompts from
// Markdown files, which are reloaded when they change.
package server

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// Options configure the service. The zero value is usable.
type Options struct {
	// Dir is the directory of Markdown files, in the format of File. Empty serves bundled samples.
	Dir string
	// Logger logs events of the service, such as invalid prompt files. nil uses slog.Default.
	Logger *slog.Logger
	// Capability are further options of the server, such as capability.WithServerOptions. They are
	// applied last.
	Capability []capability.Option

	debounce time.Duration // debounce of the directory; 0 means its default
}

// Service is the prompts service. Call Serve, or Register and Watch for an existing gRPC server.
type Service struct {
	*capability.Server
	dir *directory // nil for bundled samples, which never change
}

// New returns the service with the current prompts of Dir. It returns an error if Dir is
// unreadable.
func New(o Options) (*Service, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := capability.New("mcpedge-prompts", "1.0.0", append([]capability.Option{
		capability.WithTitle("Sample prompts"),
		capability.WithDescription("A vacation plan, a code review, and prompts from Markdown files."),
		capability.WithLogger(o.Logger),
	}, o.Capability...)...)
	addVacation(s)
	addReview(s)
	if o.Dir == "" {
		return &Service{Server: s}, addSamples(s)
	}
	dir, err := openDirectory(s, o)
	if err != nil {
		return nil, err
	}
	return &Service{Server: s, dir: dir}, nil
}

// Watch reloads changed files until stop is called.
func (s *Service) Watch() (stop func(), err error) {
	if s.dir == nil {
		return func() {}, nil
	}
	return s.dir.watch()
}

// Serve is capability.Server.Serve, with Watch running.
func (s *Service) Serve(ctx context.Context, l net.Listener) error {
	stop, err := s.Watch()
	if err != nil {
		_ = l.Close()
		return err
	}
	defer stop()
	return s.Server.Serve(ctx, l)
}
