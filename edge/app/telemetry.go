package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/dev"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Option adds to an App what others made.
type Option func(*App)

// WithTelemetry has the App observed by t, which it shuts down in the end; without it, by what Telemetry
// makes.
func WithTelemetry(t *telemetry.Telemetry) Option { return func(a *App) { a.telemetry = t } }

// WithDev serves the page about the calls that are kept in a store, on the admin listener; nil: no page.
func WithDev(store *dev.Store) Option { return func(a *App) { a.dev = store } }

// WithLogLevel has the admin listener change the level of the log.
func WithLogLevel(level *slog.LevelVar) Option { return func(a *App) { a.level = level } }

// WithRereads has the file of settings be read again whenever something is received.
func WithRereads(asked <-chan os.Signal) Option { return func(a *App) { a.rereads = asked } }

// DevStore is where the last calls are kept for a developer to see; nil unless the settings want it.
func DevStore(cfg config.Config) *dev.Store {
	if !cfg.Dev {
		return nil
	}
	return dev.NewStore(dev.Options{})
}

// devTasks is how many tasks the page about a store shows; 0: there is no page.
func devTasks(store *dev.Store) int {
	if store == nil {
		return 0
	}
	return 100
}

// Telemetry sets up what operators see of an edge, by its settings and the process's environment. store,
// unless it is nil, gets every span beside what the environment names: whatever the client wants to be
// sampled, and with arguments and results, if nobody else gets those too.
func Telemetry(cfg config.Config, log *slog.Logger, store *dev.Store) (*telemetry.Telemetry, error) {
	reportOTel(log)
	o := telemetry.Options{Version: Version(), Logger: log, Content: cfg.TraceContent, Lookup: os.LookupEnv}
	if store != nil {
		o.SpanProcessors = []sdktrace.SpanProcessor{store}
		o.Content = o.Content || !telemetry.ExportsTraces(os.LookupEnv)
		if _, named := os.LookupEnv("OTEL_TRACES_SAMPLER"); !named {
			o.Sampler = sdktrace.AlwaysSample()
		}
	}
	o.Replica = replicaName(cfg)
	if cfg.Redis != "" {
		o.StateSystem = "redis"
	}
	return telemetry.New(context.Background(), o)
}

// flushTimeout bounds how long the end of the process waits for the last spans and metrics to be sent.
const flushTimeout = 5 * time.Second

func (a *App) closeTelemetry() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := a.telemetry.Shutdown(ctx); err != nil {
		return fmt.Errorf("telemetry: what was gathered last could not be sent: %w", err)
	}
	return nil
}

// metrics serves Prometheus, and with the right Accept header exemplars.
func (a *App) metrics() http.Handler {
	return promhttp.HandlerFor(a.telemetry.Gatherer(), promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// otelTo is where OpenTelemetry's own troubles go; nil: nowhere.
var (
	otelTo   atomic.Pointer[slog.Logger]
	otelOnce sync.Once
)

// reportOTel sends what OpenTelemetry cannot tell by a return value, such as an exporter that cannot
// reach its collector, to a logger. The last call wins, for the whole process.
func reportOTel(log *slog.Logger) {
	otelTo.Store(log.With("component", "opentelemetry"))
	otelOnce.Do(func() {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
			if log := otelTo.Load(); log != nil && !errors.Is(err, context.Canceled) {
				log.Warn("telemetry could not be exported", "error", err)
			}
		}))
	})
}
