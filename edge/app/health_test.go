package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/config"
)

// A backend's health setting reaches it, with "off" as a word and not as a boolean.
func TestHealthIsSet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge.yaml")
	text := "backends: [{name: a, target: h:1}, {name: b, target: h:2, health: {service: off}}, {name: c, target: h:3, health: {service: acme.v1.Shop}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load("serve", []string{"--config", file}, func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	backends, err := Backends(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", backend.HealthOff, "acme.v1.Shop"} {
		if got := backends[i].Health; got != want {
			t.Errorf("%s: %q, want %q", backends[i].Name, got, want)
		}
	}
}
