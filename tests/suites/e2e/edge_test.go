package e2e

import (
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// patience bounds every wait for a condition.
const patience = await.Patience

// longEnough is a time in which a machine that took so long for something can do that again, though it may have become slower. It is over
// within patience.
func longEnough(least, took time.Duration) time.Duration {
	return min(max(least, 5*took), patience*3/4)
}

// startEdge runs an edge over the backends until the test ends, with the page of the last calls if the settings want it. No response becomes
// a stream because it takes long. It returns once the edge serves.
func startEdge(t *testing.T, backends []config.Backend, adjust ...func(*config.Config)) *harness.Edge {
	t.Helper()
	cfg := harness.Config(backends...)
	cfg.Calls.StreamAfter = patience // A busy machine may need more than a second for a response, and a stream has no status.
	for _, f := range adjust {
		f(&cfg)
	}
	redaction, err := app.Redaction(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	store := app.DevStore(cfg, redaction)
	if store == nil {
		return harness.Start(t, cfg, app.WithRedaction(redaction))
	}
	return harness.Start(t, cfg, app.WithDev(store), app.WithRedaction(redaction))
}

// startService serves s, on the address given if there is one, until it is stopped or the test ends.
func startService(t *testing.T, s *capability.Server, address ...string) *harness.Service {
	t.Helper()
	if len(address) > 0 {
		return harness.ServeAt(t, "fixture", address[0], s)
	}
	return harness.Serve(t, "fixture", s)
}

// only is the configuration of one backend.
func only(s *harness.Service) []config.Backend { return []config.Backend{s.Backend()} }
