//go:build access

package access

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// edges are one edge that reads tokens, and one that asks about them.
func edges(t *testing.T) (issuer string, signed, opaque *harness.Edge) {
	t.Helper()
	s := capability.New("fixture", "1.0.0")
	capability.AddTool(s, "whoami", "Says who calls", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		return c.Principal().GetSubject() + " " + strings.Join(c.Principal().GetScopes(), ","), nil
	})
	backend := harness.Serve(t, "fixture", s).Backend()
	var addresses [2]string
	for i := range addresses {
		address, err := freeport.Addr()
		if err != nil {
			t.Fatal(err)
		}
		addresses[i] = address
	}
	issuer, _ = provider(t, "http://"+addresses[0], "http://"+addresses[1])
	secret := secretOfEdge(t)
	var out [2]*harness.Edge
	for i, address := range addresses {
		cfg := harness.Config(backend)
		cfg.Listen.Address = address
		id := config.Issuer{Issuer: issuer}
		if i == 1 {
			id.Introspection = introspection(issuer, secret)
		}
		cfg.Auth = &config.Auth{
			Issuers:  []config.Issuer{id},
			Metadata: config.AuthMetadata{ScopesSupported: []string{"mcp:read", "mcp:write"}, InitialScopes: []string{"mcp:read"}},
		}
		out[i] = harness.Start(t, cfg)
	}
	return issuer, out[0], out[1]
}

// asUser is the official SDK's authorization code flow, with PKCE and dynamic registration.
func asUser(t *testing.T, name string) auth.OAuthHandler {
	t.Helper()
	u := newUser(t, name)
	h, err := auth.NewAuthorizationCodeHandler(codeFlow(u.redirect, "", u.follow))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func connect(t *testing.T, url string, h auth.OAuthHandler) (*mcp.ClientSession, error) {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "access", Version: "1"}, nil)
	return c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, OAuthHandler: h, MaxRetries: -1}, nil)
}

func whoami(t *testing.T, s *mcp.ClientSession) string {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "whoami"})
	if err != nil {
		t.Fatal(err)
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// TestLogin: a client that knows nothing but the edge's URL finds the authorization server, registers, has its user log
// in, and calls as the user; with tokens that the edge reads, and with those that it asks about.
func TestLogin(t *testing.T) {
	_, signed, opaque := edges(t)
	for name, e := range map[string]*harness.Edge{"signed": signed, "opaque": opaque} {
		t.Run(name, func(t *testing.T) {
			if _, err := connect(t, e.URL, nil); err == nil {
				t.Error("it connected without a login")
			}
			for _, user := range []string{"alice", "bob"} {
				s, err := connect(t, e.URL, asUser(t, user))
				if err != nil {
					t.Fatal(err)
				}
				if got := whoami(t, s); got != user+" mcp:read" {
					t.Errorf("%s is %q", user, got)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestMachine: a machine gets its token by its own credentials.
func TestMachine(t *testing.T) {
	_, signed, _ := edges(t)
	h, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{Credentials: &oauthex.ClientCredentials{
		ClientID: "machine", ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: "a-machine-calls"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := connect(t, signed.URL, h)
	if err != nil {
		t.Fatal(err)
	}
	if got := whoami(t, s); got != "machine mcp:read" {
		t.Errorf("the machine is %q", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestTokenOfAnotherEdge: a token for one edge is no good at the other, be it the same user's.
func TestTokenOfAnotherEdge(t *testing.T) {
	_, signed, opaque := edges(t)
	h := asUser(t, "alice")
	s, err := connect(t, signed.URL, h)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	source, err := h.TokenSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := source.Token()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*harness.Edge{signed, opaque} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL, nil)
		r.Header.Set("Authorization", "Bearer "+token.AccessToken)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if want := map[bool]int{true: 405, false: 401}[e == signed]; resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", e.URL, resp.Status, want)
		}
	}
}

// TestRevoked: a token that its user revokes is refused.
func TestRevoked(t *testing.T) {
	issuer, _, opaque := edges(t)
	h := asUser(t, "alice")
	s, err := connect(t, opaque.URL, h)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	source, err := h.TokenSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := source.Token()
	if err != nil {
		t.Fatal(err)
	}
	ask := func() int {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, opaque.URL, nil)
		r.Header.Set("Authorization", "Bearer "+token.AccessToken)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if got := ask(); got != 405 {
		t.Fatalf("status %d before", got)
	}
	form := url.Values{"token": {token.AccessToken}, "client_id": {"edge"}, "client_secret": {"the-edge-asks"}}
	resp, err := http.PostForm(issuer+"/token/revocation", form)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Fatalf("revoking: %s %s", resp.Status, body)
	}
	await.Until(t, "the token is refused", func() bool { return ask() == 401 })
}
