package e2e

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// TestServerMetadata: a client of 2025-03-26, which knows no protected-resource metadata, looks for the authorization
// server's at the origin of the edge, and finds the issuer's.
func TestServerMetadata(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	e := startEdge(t, only(startService(t, newFixture().Server)), withAuth(id))
	at := func(path string) *caller { return newCaller(t, "http://"+e.Host+path) }
	// It begins with a request that is refused.
	refused := newCaller(t, e.URL).send(t, http.MethodPost, strings.Replace(hello, vNov, vMar, 1)).want(http.StatusUnauthorized)
	const challenge = `Bearer scope="mcp:read", resource_metadata="` + public + `/.well-known/oauth-protected-resource/mcp"`
	if got := refused.header["Www-Authenticate"]; len(got) != 1 || got[0] != challenge {
		t.Errorf("challenged with %q, want %q", got, challenge)
	}
	own := newCaller(t, id.URL+"/.well-known/openid-configuration").send(t, http.MethodGet, "", "Accept", "").want(http.StatusOK)
	// The edge looks for the keys by itself, once, for which it reads the same document.
	await.Until(t, "the edge to have the issuer's keys", func() bool { return id.Fetches.Load() > 0 })
	before := id.Documents.Load()
	for range 10 {
		got := at("/.well-known/oauth-authorization-server").send(t, http.MethodGet, "", "Accept", "", "MCP-Protocol-Version", vMar,
			"Origin", "https://app.example").want(http.StatusOK)
		if !bytes.Equal(got.body, own.body) || got.header.Get("Access-Control-Allow-Origin") != "*" || got.header.Get("Content-Type") != "application/json" {
			t.Fatalf("%v, %s, want %s", got.header, got.body, own.body)
		}
	}
	if n := id.Documents.Load() - before; n != 1 {
		t.Errorf("the issuer was asked %d times", n)
	}
	// Clients that look below it first go on to the root after 404.
	if got := at("/.well-known/oauth-authorization-server/mcp").send(t, http.MethodGet, "", "Accept", "").want(http.StatusNotFound); got.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("404 with %v", got.header)
	}
	// The token that the issuer gives is good in this revision.
	sessionAs(t, e, vMar, id.Token("alice", public)).request("tools/list", "").want(http.StatusOK).result()
}

// TestServerMetadataWithoutIssuer: while the issuer does not answer, a client is told to come again; where there is none, or
// nobody is asked who they are, there is no metadata.
func TestServerMetadataWithoutIssuer(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	backends := only(startService(t, newFixture().Server))
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(keys, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	id.SetUnavailable(true)
	for name, row := range map[string]struct {
		adjust func(*config.Config)
		status int
	}{
		"down":     {withAuth(id), http.StatusServiceUnavailable},
		"API keys": {func(c *config.Config) { withAuth(id)(c); c.Auth.Issuers, c.Auth.APIKeys = nil, keys }, http.StatusNotFound},
		"no auth":  {func(*config.Config) {}, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			e := startEdge(t, backends, row.adjust)
			got := newCaller(t, "http://"+e.Host+"/.well-known/oauth-authorization-server").send(t, http.MethodGet, "", "Accept", "").want(row.status)
			if (got.header.Get("Retry-After") != "") != (row.status == http.StatusServiceUnavailable) {
				t.Errorf("%v", got.header)
			}
		})
	}
}
