package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// lazy is a duration that a logger resolves.
type lazy time.Duration

func (l lazy) LogValue() slog.Value { return slog.DurationValue(time.Duration(l)) }

// TestDurationsInSeconds: both formats of the log have durations in seconds, to the microsecond, wherever they stand in a record.
func TestDurationsInSeconds(t *testing.T) {
	for asJSON, want := range map[bool]string{
		false: " of=2 every.minute=60 g.wait.first=0.25 g.wait.name=x g.later=3",
		true:  `"of":2,"every":{"minute":60},"g":{"wait":{"first":0.25,"name":"x"},"later":3}}`,
	} {
		var out bytes.Buffer
		log := slog.New(NewHandler(&out, asJSON, slog.LevelInfo, "")).With("of", 2*time.Second, slog.Group("every", "minute", time.Minute)).WithGroup("g")
		log.Info("done", slog.Group("wait", "first", 250*time.Millisecond, "name", "x"), "later", lazy(3*time.Second))
		if !strings.HasSuffix(strings.TrimSpace(out.String()), want) {
			t.Errorf("%s does not end with %s", &out, want)
		}
	}
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
