package compose

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// spread sends every request to the next edge, whatever session it is about.
type spread struct {
	hosts []string
	next  atomic.Uint64
	http  http.RoundTripper
}

func (s *spread) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	u := *r.URL
	u.Host = s.hosts[s.next.Add(1)%uint64(len(s.hosts))]
	r.URL, r.Host = &u, ""
	return s.http.RoundTrip(r)
}

// The revisions of the tests: the last with sessions, and the one without.
const (
	v2025 = "2025-11-25"
	v2026 = "2026-07-28"
)

// connect is an official client's session in a revision.
func connect(t *testing.T, ctx context.Context, endpoint, version string, rt http.RoundTripper, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "compose", Version: "1"}, o)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: rt}},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("negotiated %s, want %s", got, version)
	}
	return session
}

func text(t *testing.T, r *mcp.CallToolResult, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if r.IsError || len(r.Content) != 1 {
		t.Fatalf("the tool says %+v", r)
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// TestContainers starts every container's command line but the proxy's, each found healthy by its own
// health check, and uses the edges as one server: each request of a session goes to the next edge.
func TestContainers(t *testing.T) {
	redisserver.Require(t)
	s := newStack(t)
	edges := s.project.edges()
	s.up(append([]string{"tools", "resources", "prompts"}, edges...)...)
	s.addresses.listening()
	hosts := &spread{http: &http.Transport{}}
	for _, name := range edges {
		hosts.hosts = append(hosts.hosts, s.addresses.of(name, "8080"))
	}
	for _, version := range []string{v2025, v2026} {
		t.Run(version, func(t *testing.T) { use(t, version, hosts) })
	}
	hosts.http.(*http.Transport).CloseIdleConnections()
	s.stop(append([]string{"tools", "resources", "prompts"}, edges...)...)
	for _, name := range []string{edges[0], "tools"} {
		if s.healthy(name) == nil {
			t.Errorf("%s is healthy, and was stopped", name)
		}
	}
	s.stop("redis")
	if s.healthy("redis") == nil {
		t.Error("redis is healthy, and was stopped")
	}
}

// use needs every service behind the edges, and each edge at least twice.
func use(t *testing.T, version string, hosts *spread) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	session := connect(t, ctx, "http://"+hosts.hosts[0]+"/mcp", version, hosts, nil)
	for range 2 * len(hosts.hosts) {
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "calculator_arithmetic", Arguments: map[string]any{"expression": "6*7"}})
		if got := text(t, r, err); got != "42" {
			t.Errorf("6*7 is %s", got)
		}
		resources, err := session.ListResources(ctx, nil)
		if err != nil || len(resources.Resources) == 0 {
			t.Errorf("resources %+v, error %v", resources, err)
		}
		prompts, err := session.ListPrompts(ctx, nil)
		if err != nil || len(prompts.Prompts) == 0 {
			t.Errorf("prompts %+v, error %v", prompts, err)
		}
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}
