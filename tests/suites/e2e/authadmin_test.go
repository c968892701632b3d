package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// TestAdminAuth: the admin address wants a scope for everything but what is open, and calls tools as who calls there.
func TestAdminAuth(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	locked := func(open config.Names) func(*config.Config) {
		return func(c *config.Config) {
			c.Admin.Auth, c.Admin.Pprof = &config.AdminAuth{Scope: "mcp:operate", Open: open}, true
		}
	}
	operator := id.Token("olga", public, map[string]any{"scope": "mcp:read mcp:operate"})
	other := id.Token("alice", public)
	f := newFixture()
	capability.AddTool(f.Server, "whoami", "Says who calls",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			return c.Principal().GetIssuer() + " " + c.Principal().GetSubject(), nil
		})
	backends := only(startService(t, f.Server))
	for name, c := range map[string]struct {
		open config.Names
		is   string
	}{"default": {nil, "/healthz /readyz"}, "metrics": {config.Names{"probes", "metrics"}, "/healthz /readyz /metrics"}, "nothing open": {config.Names{}, ""}, "probes": {config.Names{"probes"}, "/healthz /readyz"}} {
		t.Run(name, func(t *testing.T) {
			e := startEdge(t, backends, withAuth(id), locked(c.open))
			for _, path := range []string{
				"/healthz", "/readyz", "/metrics", "/v1/status", "/v1/tools", "/v1/sessions", "/openapi.json", "/debug/pprof/",
				"/debug/pprof/trace?seconds=0", "/no/such",
			} {
				get := func(headers ...string) *reply {
					return newCaller(t, "http://"+e.Admin+path).send(t, "GET", "", append(headers, "Accept", "")...)
				}
				if path == "/no/such" {
					get().want(404)
					continue
				}
				isOpen := strings.Contains(" "+c.is+" ", " "+path+" ")
				switch none := get(); {
				case isOpen:
					none.want(200)
				case none.status != 401 || !strings.HasPrefix(none.header.Get("WWW-Authenticate"), "Bearer "):
					t.Errorf("%s without credentials: %d, %v", path, none.status, none.header)
				}
				if wrong := get("Authorization", "Bearer "+other); !isOpen && (wrong.status != 403 ||
					!strings.HasPrefix(wrong.header.Get("WWW-Authenticate"), `Bearer error="insufficient_scope", `) ||
					!strings.Contains(wrong.header.Get("WWW-Authenticate"), `scope="mcp:operate"`)) {
					t.Errorf("%s without the scope: %d, %v", path, wrong.status, wrong.header)
				}
				if right := get("Authorization", "Bearer "+operator); right.status != 200 {
					t.Errorf("%s with the scope: %d %s", path, right.status, right.body)
				}
			}
			post := newCaller(t, "http://"+e.Admin+"/v1/tools/whoami:call")
			post.send(t, "POST", `{}`).want(401)
			post.send(t, "POST", `{}`, "Authorization", "Bearer "+other).want(403)
			if got := post.send(t, "POST", `{}`, "Authorization", "Bearer "+operator).want(200); !strings.Contains(string(got.body), id.URL+" olga") {
				t.Errorf("the tool was called by %s", got.body)
			}
		})
	}
}
