package matrix

import (
	"log/slog"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	fixtures "github.com/mcpedge/mcpedge/services/everything/server"
	tools "github.com/mcpedge/mcpedge/services/tools/server"
	"github.com/mcpedge/mcpedge/tests/harness"
	"github.com/mcpedge/mcpedge/tests/redisserver"
)

// startBackends serves the conformance fixtures, the bundled tools and the package's own fixture over
// gRPC until the test ends.
func startBackends(t *testing.T) (*fixture, []*harness.Service) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	f := newFixture(quiet)
	return f, []*harness.Service{
		harness.Serve(t, "everything", fixtures.New(fixtures.Options{WatchInterval: 20 * time.Millisecond, Logger: quiet})),
		harness.Serve(t, "tools", tools.New(tools.Options{Logger: quiet})),
		harness.Serve(t, "fixture", f.Server),
	}
}

func settings(t *testing.T, backends []*harness.Service) config.Config {
	t.Helper()
	cfg := harness.Config()
	cfg.Limits.PageSize = 10         // so that lists have several pages
	cfg.Schemas = config.SchemasFull // what a backend says arrives as it is
	if *inRedis {
		cfg.Redis = redisserver.ForTest(t).URL()
	}
	for _, b := range backends {
		cfg.Backends = append(cfg.Backends, b.Backend())
	}
	return cfg
}
