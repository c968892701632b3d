package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestDefaultLogger: code without a logger of its own, such as the balancer of gRPC connections,
// logs in the configured format.
func TestDefaultLogger(t *testing.T) {
	stderr, before := os.Stderr, slog.Default()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	os.Stderr = file
	t.Cleanup(func() {
		os.Stderr = stderr
		slog.SetDefault(before)
		file.Close()
	})
	cfg := harness.Config()
	cfg.Log.Format, cfg.Listen.Address, cfg.Admin.Address = "json", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Backends = []config.Backend{{Name: "a", Target: "127.0.0.1:1"}}
	ctx, cancel := context.WithCancel(t.Context())
	edge, stop, err := assemble(ctx, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	slog.Warn("an address gets no calls", "for", 1500*time.Millisecond)
	cancel()
	_ = edge.Run(ctx, func(string) {})
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var record struct {
			Msg string  `json:"msg"`
			For float64 `json:"for"`
		}
		if json.Unmarshal(line, &record) == nil && record.Msg == "an address gets no calls" {
			if record.For != 1.5 {
				t.Errorf("%s", line)
			}
			return
		}
	}
	t.Errorf("not logged as JSON:\n%s", text)
}
