package app

import (
	"log/slog"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Redaction returns the redaction of valid settings, for the objects that are created before the
// App: the log, Telemetry and DevStore. The App replaces it with each generation of settings: see
// WithRedaction.
func Redaction(cfg *config.Config) (*redact.Current, error) {
	m, err := cfg.Masker()
	if err != nil {
		return nil, err
	}
	c := new(redact.Current)
	c.Set(m)
	return c, nil
}

// WithRedaction sets the holder of the App's redaction. The default is one that only the App has.
func WithRedaction(c *redact.Current) Option { return func(a *App) { a.redaction = c } }

// RedactedLog returns a logger that replaces secrets and uses the same handler. New and Telemetry
// use it for their loggers.
func RedactedLog(log *slog.Logger, c *redact.Current) *slog.Logger {
	return telemetry.RedactedLog(log, c.Texts(redact.Logs))
}

// auditRedactor returns what replaces secrets in records of the audit now; nil for nothing.
func (a *App) auditRedactor() audit.Redactor {
	if v := a.redaction.Masker().View(redact.Audit, redact.About{}); v != nil {
		return v
	}
	return nil
}

// observeRedaction registers the counts of the redaction with telemetry.
func (a *App) observeRedaction() []error {
	counts := a.redaction.Counts()
	each := func(name string, of func(replaced, would int64) int64) error {
		return a.telemetry.Observe(name, func(emit telemetry.Emit) {
			counts.Each(func(rule string, place redact.Place, replaced, would int64) {
				emit(float64(of(replaced, would)), telemetry.AttrRedaction.String(rule), telemetry.AttrPlace.String(place.String()))
			})
		})
	}
	return []error{
		each(telemetry.RedactReplaced, func(replaced, _ int64) int64 { return replaced }),
		each(telemetry.RedactWould, func(_, would int64) int64 { return would }),
		a.telemetry.Observe(telemetry.RedactExceeded, func(emit telemetry.Emit) {
			counts.Exceeded(func(place redact.Place, n int64) { emit(float64(n), telemetry.AttrPlace.String(place.String())) })
		}),
	}
}
