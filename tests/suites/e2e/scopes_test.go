package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// TestBackendAsksForScopes: the scopes that a backend asks for are challenged as the policy's are, in every revision, and a token with
// them is served.
func TestBackendAsksForScopes(t *testing.T) {
	t.Parallel() // it waits for most of its time
	needs := func(c *capability.Call) error {
		for _, s := range c.Principal().GetScopes() {
			if s == "orders:write" {
				return nil
			}
		}
		return capability.LacksScopes("orders:write")
	}
	s := capability.New("orders", "1.0.0")
	capability.AddTool(s, "order", "Orders", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) { return "ordered", needs(c) })
	capability.AddTool(s, "reported", "Orders, and says so first", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		c.Progress(1, 2, "looking")
		return "ordered", needs(c)
	})
	capability.AddPrompt(s, &capability.Prompt{Name: "order"}, func(_ context.Context, c *capability.Call, _ map[string]string) (string, error) {
		return "Order!", needs(c)
	})
	capability.AddResource(s, &capability.Resource{Uri: "orders://all", Name: "all"}, func(_ context.Context, c *capability.Call, _ string) (string, error) {
		return "orders", needs(c)
	})
	id := issuer.Serve(t)
	e := startEdge(t, only(startService(t, s)), withAuth(id), func(c *config.Config) {
		c.Policy = &config.Policy{Default: "allow", Scopes: []config.PolicyScopes{{Tools: config.Names{"other"}, Need: config.Names{"mcp:read"}}}}
	})
	lacks := id.Token("s", public, map[string]any{"scope": "mcp:read openid"})
	has := id.Token("s", public, map[string]any{"scope": "mcp:read orders:write"})
	for _, version := range append([]string{v2026}, stateful...) {
		for method, params := range map[string]string{
			"tools/call": toolParams("order", `{}`, ""), "prompts/get": `{"name":"order"}`, "resources/read": `{"uri":"orders://all"}`,
		} {
			as := func(token string) asker {
				if version == v2026 {
					return statelessAs(t, e, token)
				}
				return sessionAs(t, e, version, token)
			}
			want := "orders:write mcp:read"
			if version == v2026 {
				want = "orders:write"
			}
			r := as(lacks).ask(method, params).want(http.StatusForbidden)
			if got := r.header.Get("WWW-Authenticate"); !strings.Contains(got, `error="insufficient_scope"`) || !strings.Contains(got, `scope="`+want+`"`) {
				t.Errorf("%s %s: %s, want %s", version, method, got, want)
			}
			if m := r.json(); m.Error == nil || m.Error.Code != -31403 || string(m.Error.Data) != `{"scopes":["orders:write"]}` || !strings.Contains(m.Error.Message, "get an access token") {
				t.Errorf("%s %s: %s", version, method, r.body)
			}
			as(has).ask(method, params).want(http.StatusOK)
		}
	}
	// Where the response has begun it says so itself.
	r := sessionAs(t, e, vNov, lacks).request("tools/call", toolParams("reported", `{}`, `"progressToken":1`)).want(http.StatusOK)
	m := r.events().response()
	var data struct{ Scopes []string }
	if m.Error == nil || m.Error.Code != -31403 || json.Unmarshal(m.Error.Data, &data) != nil || len(data.Scopes) != 1 {
		t.Errorf("in a stream: %s", m.raw)
	}
}
