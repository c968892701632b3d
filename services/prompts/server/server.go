// Package server is the bundled prompts service: prompts written in Go, and prompts that are
// Markdown files, reloaded when they change.
package server

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// Options adjust the service; the zero value is useful.
type Options struct {
	// Dir holds Markdown files; empty: bundled samples. See File for what is in one.
	Dir string
	// Logger is the service's own log, where files that are no prompts are reported; nil: slog.Default.
	Logger *slog.Logger
	// Capability are further options of the server, such as capability.WithServerOptions; applied last.
	Capability []capability.Option

	debounce time.Duration // of the directory; 0: its own
}

// Service is the service; Serve it, or Register it on a server of your own beside a Watch.
type Service struct {
	*capability.Server
	dir *directory // nil: bundled samples, which never change
}

// New returns the service with the prompts that Dir has now. It fails when Dir cannot be read.
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

// Watch reloads files that change, until stop is called.
func (s *Service) Watch() (stop func(), err error) {
	if s.dir == nil {
		return func() {}, nil
	}
	return s.dir.watch()
}

// Serve is capability.Server.Serve with a Watch beside it.
func (s *Service) Serve(ctx context.Context, l net.Listener) error {
	stop, err := s.Watch()
	if err != nil {
		_ = l.Close()
		return err
	}
	defer stop()
	return s.Server.Serve(ctx, l)
}
