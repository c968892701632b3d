// Package demo has the bundled services serve beside, or in the place of, configured backends. It is the one place of the edge that knows services.
package demo

import (
	"context"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	services "github.com/mcpedge/mcpedge/services/demo"
)

// Add starts the bundled services in this process, over real gRPC on loopback, so that the edge
// works on a machine that has nothing else, and adds them behind the backends there are. t may be nil. stop
// ends them.
func Add(ctx context.Context, cfg *config.Config, t *telemetry.Telemetry) (stop func(), err error) {
	o := services.Options{}
	if t.Tracing() {
		o.Capability = append(o.Capability, capability.WithTracerProvider(t.TracerProvider()))
	}
	d, err := services.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, b := range cfg.Backends {
		taken[b.Name] = true
	}
	for _, t := range d.Targets() {
		name := t.Name
		for taken[name] {
			name = "demo-" + name
		}
		taken[name] = true
		cfg.Backends = append(cfg.Backends, config.Backend{Name: name, Target: t.Addr})
	}
	return d.Stop, nil
}
