package matrix

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	fixtures "github.com/mcpedge/mcpedge/services/everything/server"
	tools "github.com/mcpedge/mcpedge/services/tools/server"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
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
	cfg.Sessions.Required = required
	cfg.Lists.PageSize = 10                // so that lists have several pages
	cfg.Lists.Schemas = config.SchemasFull // what a backend says arrives as it is
	if harness.InRedis() {
		cfg.Redis.URL = redisserver.ForTest(t).URL()
	}
	for _, b := range backends {
		cfg.Backends = append(cfg.Backends, b.Backend())
	}
	cfg.Backends[len(cfg.Backends)-1].Extensions = config.Names{"io.example/matrix"}
	if set != "" {
		cfg.Sets = map[string]config.Set{set: {Include: config.SetMembers{Backends: config.Names{"*"}}}}
	}
	if caller != "" {
		cfg.Listen.PublicURL, cfg.Auth = "https://mcp.example", &config.Auth{APIKeys: filepath.Join(t.TempDir(), "keys")}
		line := fmt.Sprintf("- {name: %s, sha256: %x}\n", caller, sha256.Sum256([]byte(keyOf(caller))))
		if err := os.WriteFile(cfg.Auth.APIKeys, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if over != "" {
		p, dir := issuer(t).Server(t), t.TempDir()
		cfg.Listen.TLS.Cert = authority.File(t, filepath.Join(dir, "cert"), p.Cert)
		cfg.Listen.TLS.Key = authority.File(t, filepath.Join(dir, "key"), p.Key)
	}
	return cfg
}

// endpoint returns the URL of an endpoint of the edge, /mcp or /sse, at which clients are.
func endpoint(edge *harness.Edge, path string) string {
	url := strings.TrimSuffix(edge.URL, "/mcp") + path
	if set != "" {
		url += "/" + set
	}
	return url
}

// keyOf is the key of a caller.
func keyOf(caller string) string { return "key-of-" + caller }

var ca struct {
	once sync.Once
	*authority.CA
}

// issuer is the CA of all edges.
func issuer(t *testing.T) *authority.CA {
	ca.once.Do(func() { ca.CA = authority.New(t, "matrix") })
	return ca.CA
}

// client is one of the edges, over the protocol whose turn it is.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{DisableCompression: true}
	if over != "" {
		transport.TLSClientConfig = &tls.Config{RootCAs: authority.Pool(issuer(t))}
		transport.Protocols = &http.Protocols{}
		transport.Protocols.SetHTTP1(over == "http/1.1")
		transport.Protocols.SetHTTP2(over == "h2")
	}
	return &http.Client{Transport: transport}
}
