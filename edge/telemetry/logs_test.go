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
		slog.New(NewHandler(&out, asJSON, slog.LevelInfo, "")).Info("done", "took", 1500*time.Millisecond+1234*time.Nanosecond, "never", time.Duration(0), "words", "2s")
		if !strings.HasSuffix(strings.TrimSpace(out.String()), want) {
			t.Errorf("%s does not end with %s", &out, want)
		}
	}
}

// Every record has the replica once: those of requests, which name it by themselves, and those of loggers with attributes of their own.
func TestRecordsNameTheReplica(t *testing.T) {
	var out bytes.Buffer
	h := NewHandler(&out, false, slog.LevelInfo, "edge-1")
	log := slog.New(h)
	tel := newTelemetry(t, Options{Logger: log, Replica: "edge-1"})
	call(t.Context(), tel)
	log.Info("draining")
	log.With("component", "redis").Warn("Redis does not answer")
	h.Flush()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines {
		if strings.Count(line, " replica=edge-1") != 1 {
			t.Errorf("%s", line)
		}
	}
	if len(lines) != 3 {
		t.Errorf("%d lines:\n%s", len(lines), &out)
	}
}
