package app

import (
	"context"
	"net/http"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/transport/sse"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// serveSSE mounts HTTP+SSE: the same sessions as at the endpoint, without the stateless era.
func (a *App) serveSSE(mux *http.ServeMux, options web.Options) {
	router := &era.Router{Stateless: sse.Stateless{}, Stateful: a.stateful, MaxBatch: config.Batch, Telemetry: a.telemetry}
	a.sse = sse.New(router, a.authenticator(), sse.Options{
		Web: options, KeepAlive: a.cfg.Listen.KeepAlive,
		MaxConnections: a.cfg.Clients.Sessions,
		MaxExchanges:   a.cfg.Advanced.CallsPerSession + config.StreamsPerSession,
		Relay:          a.durable.relay, Logger: a.log,
	})
	a.mount(mux, sse.StreamPath, a.atSets(a.sse.Stream))
	a.mount(mux, sse.MessagePath, a.atSets(a.sse.Message))
}

// drainSSE closes the connections of HTTP+SSE, each once it is idle.
func (a *App) drainSSE(grace context.Context) error {
	if a.sse == nil {
		return nil
	}
	return a.sse.Drain(grace)
}
