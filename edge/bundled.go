package main

import (
	"context"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/services/demo"
)

// startBundled starts the bundled services in this process, over real gRPC on loopback, so that the
// edge works on a machine that has nothing else.
func startBundled(ctx context.Context, t *telemetry.Telemetry) (stop func(), backends []config.Backend, err error) {
	o := demo.Options{}
	if t.Tracing() {
		o.Capability = append(o.Capability, capability.WithTracerProvider(t.TracerProvider()))
	}
	d, err := demo.Start(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range d.Targets() {
		backends = append(backends, config.Backend{Name: t.Name, Target: t.Addr})
	}
	return d.Stop, backends, nil
}
