package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestDurationsInSeconds: both formats of the log have durations in seconds, to the microsecond.
func TestDurationsInSeconds(t *testing.T) {
	for asJSON, want := range map[bool]string{false: " took=1.500001 never=0 words=2s", true: `"took":1.500001,"never":0,"words":"2s"}`} {
		var out bytes.Buffer
		slog.New(NewHandler(&out, asJSON, slog.LevelInfo)).Info("done", "took", 1500*time.Millisecond+1234*time.Nanosecond, "never", time.Duration(0), "words", "2s")
		if !strings.HasSuffix(strings.TrimSpace(out.String()), want) {
			t.Errorf("%s does not end with %s", &out, want)
		}
	}
}
