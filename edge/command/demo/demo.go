// Package demo runs the bundled services beside, or in place of, configured backends. It is the
// only package of the edge that imports services.
package demo

import (
	"context"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	services "github.com/mcpedge/mcpedge/services/demo"
)

// Add starts the bundled services in this process, over real gRPC on loopback, so that the edge
// works on a machine without other services, and adds them after the configured backends. t may be
// nil. stop ends them.
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
