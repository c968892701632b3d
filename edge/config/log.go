package config

import (
	"fmt"
	"slices"
)

// Log configures logging to stderr.
type Log struct {
	// Level: debug, info, warn or error.
	Level string `yaml:"level" usage:"debug, info, warn or error"`
	// Format: text or json.
	Format string `yaml:"format" usage:"text or json"`
}

func defaultLog() Log { return Log{Level: "info", Format: "text"} }

func (l *Log) validate() (errs []error) {
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, l.Level) {
		errs = append(errs, fmt.Errorf("log.level: %q: use debug, info, warn or error", l.Level))
	}
	if !slices.Contains([]string{"text", "json"}, l.Format) {
		errs = append(errs, fmt.Errorf("log.format: %q: use text or json", l.Format))
	}
	return errs
}
