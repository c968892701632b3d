// Package demo runs the bundled services in the process, over real gRPC, for an edge without
// configured backends.
package demo

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/mcpedge/mcpedge/capability"
	prompts "github.com/mcpedge/mcpedge/services/prompts/server"
	resources "github.com/mcpedge/mcpedge/services/resources/server"
	tools "github.com/mcpedge/mcpedge/services/tools/server"
)

// Options configure the services. The zero value is usable.
type Options struct {
	// ResourcesDir is the directory that resources serves. Empty serves bundled documents.
	ResourcesDir string
	// PromptsDir is the directory of Markdown files that prompts serves. Empty serves bundled
	// samples.
	PromptsDir string
	// Logger is the logger of the services. nil uses slog.Default.
	Logger *slog.Logger
	// Capability are options of all services, such as capability.WithServerOptions.
	Capability []capability.Option
}

// Target is one running service.
type Target struct {
	// Name is the name of the service: "tools", "resources" or "prompts".
	Name string
	// Addr is the gRPC target of the service: host:port on loopback.
	Addr string
}

// Demo holds the running services. It is safe for concurrent use.
type Demo struct {
	targets []Target
	log     *slog.Logger
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// service serves until ctx is done.
type service interface {
	Serve(ctx context.Context, l net.Listener) error
}

// Start starts tools, resources and prompts on loopback ports. They run until ctx is done or Stop
// is called. The caller must call Stop, which ends all goroutines. If one service cannot start,
// Start stops the others.
func Start(ctx context.Context, o Options) (*Demo, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	ctx, cancel := context.WithCancel(ctx)
	d := &Demo{log: o.Logger, cancel: cancel}
	r, err := resources.New(resources.Options{Dir: o.ResourcesDir, Logger: o.Logger, Capability: o.Capability})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("the bundled resources: %w", err)
	}
	p, err := prompts.New(prompts.Options{Dir: o.PromptsDir, Logger: o.Logger, Capability: o.Capability})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("the bundled prompts: %w", err)
	}
	for _, s := range []struct {
		name string
		service
	}{
		{"tools", tools.New(tools.Options{Logger: o.Logger, Capability: o.Capability})},
		{"resources", r},
		{"prompts", p},
	} {
		if err := d.start(ctx, s.name, s.service); err != nil {
			d.Stop()
			return nil, err
		}
	}
	return d, nil
}

func (d *Demo) start(ctx context.Context, name string, s service) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("the bundled %s: a port on loopback: %w", name, err)
	}
	d.targets = append(d.targets, Target{Name: name, Addr: l.Addr().String()})
	d.done.Go(func() {
		if err := s.Serve(ctx, l); err != nil {
			d.log.Error("a bundled service failed", "service", name, "error", err)
		}
	})
	return nil
}

// Targets returns the services in a fixed order. The caller owns the slice.
func (d *Demo) Targets() []Target { return append([]Target(nil), d.targets...) }

// Stop stops the services and waits for running calls, within their grace period. Errors of running
// services are logged. It may be called more than once.
func (d *Demo) Stop() {
	d.cancel()
	d.done.Wait()
}
