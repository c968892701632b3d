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
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Option adds to an App what others made.
type Option func(*App)

// WithTelemetry has the App observed by t, which it shuts down in the end; without it, by what Telemetry
// makes.
func WithTelemetry(t *telemetry.Telemetry) Option { return func(a *App) { a.telemetry = t } }

// WithLogLevel has the admin listener change the level of the log.
func WithLogLevel(level *slog.LevelVar) Option { return func(a *App) { a.level = level } }

// Telemetry sets up what operators see of an edge, by its settings and the process's environment.
// processors get every finished span beside what the environment names.
func Telemetry(cfg config.Config, log *slog.Logger, processors ...sdktrace.SpanProcessor) (*telemetry.Telemetry, error) {
	reportOTel(log)
	system := ""
	if cfg.Redis != "" {
		system = "redis"
	}
	return telemetry.New(context.Background(), telemetry.Options{
		Version: Version(), Replica: replicaName(cfg), Logger: log, Content: cfg.TraceContent,
		StateSystem: system, Lookup: os.LookupEnv, SpanProcessors: processors,
	})
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
