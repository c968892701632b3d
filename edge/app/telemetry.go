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
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Option configures an App with parts made elsewhere.
type Option func(*App)

// WithTelemetry sets the App's telemetry, which the App shuts down at the end. The default is made
// by Telemetry.
func WithTelemetry(t *telemetry.Telemetry) Option { return func(a *App) { a.telemetry = t } }

// WithDev serves the page about the calls in a store on the admin listener. nil serves no page.
func WithDev(store *dev.Store) Option { return func(a *App) { a.dev = store } }

// WithLogLevel lets the admin listener change the level of the log.
func WithLogLevel(level *slog.LevelVar) Option { return func(a *App) { a.level = level } }

// WithRereads rereads the settings file whenever a value is received.
func WithRereads(asked <-chan os.Signal) Option { return func(a *App) { a.rereads = asked } }

// WithSettingsInterval sets the interval at which the settings file is read, for files that are replaced as a whole. The default
// is a second.
func WithSettingsInterval(d time.Duration) Option {
	return func(a *App) { a.settings.interval = d }
}

// DevStore returns the store of recent calls for developers, or nil if the settings do not enable
// it. redaction replaces secrets in its texts.
func DevStore(cfg config.Config, redaction *redact.Current) *dev.Store {
	if !cfg.Admin.Dev {
		return nil
	}
	return dev.NewStore(dev.Options{Redact: redaction.Texts(redact.Dev)})
}

// devTasks returns the number of tasks that the page shows. It is 0 without the page.
func devTasks(store *dev.Store) int {
	if store == nil {
		return 0
	}
	return 100
}

// Telemetry sets up telemetry by the settings and the process's environment. If store is not nil,
// it gets every span, in addition to the exporter in the environment and independently of the
// client's sampling decision. Its spans have arguments and results, unless an exporter gets these.
// redaction replaces secrets in exported data.
func Telemetry(cfg config.Config, log *slog.Logger, store *dev.Store, redaction *redact.Current) (*telemetry.Telemetry, error) {
	log = RedactedLog(log, redaction)
	reportOTel(log)
	o := telemetry.Options{Version: Version(), Logger: log, Authenticated: cfg.Auth != nil, Content: cfg.Telemetry.TraceContent, Lookup: os.LookupEnv, Redact: redaction.Texts(redact.Spans)}
	if store != nil {
		o.SpanProcessors = []sdktrace.SpanProcessor{store}
		o.Content = o.Content || !telemetry.ExportsTraces(os.LookupEnv)
		if _, named := os.LookupEnv("OTEL_TRACES_SAMPLER"); !named {
			o.Sampler = sdktrace.AlwaysSample()
		}
	}
	o.Replica = cfg.ReplicaName()
	if cfg.Redis.URL != "" {
		o.StateSystem = "redis"
	}
	return telemetry.New(context.Background(), o)
}

// flushTimeout bounds the export of the last spans and metrics at the end of the process.
const flushTimeout = 5 * time.Second

func (a *App) closeTelemetry() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := a.telemetry.Shutdown(ctx); err != nil {
		return fmt.Errorf("telemetry: the last data could not be exported: %w", err)
	}
	return nil
}

// metrics serves Prometheus, with exemplars if the Accept header asks for them.
func (a *App) metrics() http.Handler {
	return promhttp.HandlerFor(a.telemetry.Gatherer(), promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// otelTo is the logger of OpenTelemetry's own errors; nil discards them.
var (
	otelTo   atomic.Pointer[slog.Logger]
	otelOnce sync.Once
)

// reportOTel logs errors that OpenTelemetry cannot return, such as an exporter that cannot reach
// its collector. The last call wins, for the whole process.
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
