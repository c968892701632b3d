package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// Settings that can do nothing, or show credentials to others, are logged at the start.
func TestSettingsAreWarnedOf(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	cfg := config.Default()
	cfg.Backends = []config.Backend{{Name: "a", Target: "h:1"}, {Name: "b", Target: "h:2", Kind: config.KindContract}}
	if warnOfSettings(cfg, log); out.Len() > 0 {
		t.Errorf("logged for settings in use: %s", out.String())
	}
	cfg.Backends = append(cfg.Backends, config.Backend{Name: "c", Target: "tools.internal"})
	if warnOfSettings(cfg, log); !strings.Contains(out.String(), "level=WARN") || !strings.Contains(out.String(), "backends[2] c: target") {
		t.Errorf("logged %q", out.String())
	}
	cfg.Backends[1].Identity = config.IdentityExchange
	if warnOfSettings(cfg, log); !strings.Contains(out.String(), "sent without TLS") || !strings.Contains(out.String(), "backends[1] b: identity: exchange") {
		t.Errorf("logged %q", out.String())
	}
}
