// Package demo runs the bundled services inside the process, over real gRPC, for an edge that has no
// backend yet.
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

// Options adjust the services; the zero value is useful.
type Options struct {
	// ResourcesDir is the directory that resources serves; empty: bundled documents.
	ResourcesDir string
	// PromptsDir is the directory of Markdown files that prompts serves; empty: bundled samples.
	PromptsDir string
	// Logger is the services' own log; nil: slog.Default.
	Logger *slog.Logger
	// Capability are options of every service, such as capability.WithServerOptions.
	Capability []capability.Option
}

// Target is one running service.
type Target struct {
	// Name is the service's: "tools", "resources" or "prompts".
	Name string
	// Addr is where it listens, a gRPC target: host:port on loopback.
	Addr string
}

// Demo is the running services. Its methods may be used concurrently.
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

// Start starts tools, resources and prompts on ports of their own on loopback. They run until ctx is
// done or Stop is called; Stop is called in any case, and ends every goroutine. When one cannot
// start, none is left running.
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

// Targets returns the services, in a fixed order. The slice is the caller's.
func (d *Demo) Targets() []Target { return append([]Target(nil), d.targets...) }

// Stop stops the services, gives running calls their grace, and waits. What failed while it ran is in
// the log. It may be called more than once.
func (d *Demo) Stop() {
	d.cancel()
	d.done.Wait()
}
