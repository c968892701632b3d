//go:build access

package access

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestKeycloakUsers: the tokens of the realm name their user (sub), so that two users are two principals, whatever roles they have
// and however their client came to its id; and they have the role that a policy looks at.
func TestKeycloakUsers(t *testing.T) {
	t.Parallel()
	address, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	edge := "http://" + address
	realm := atKeycloak(t, "users", edge, &transcript{}).(*keycloakRealm)
	carol := map[string]any{ // as ordinary as alice
		"username": "carol", "enabled": true, "email": "carol@example.com", "emailVerified": true, "firstName": "Carol", "lastName": "Example",
		"credentials": []map[string]any{{"type": "password", "value": "carol", "temporary": false}},
	}
	if err := realm.admin(t.Context(), http.MethodPost, "/users/users", carol, nil); err != nil {
		t.Fatal(err)
	}
	type who struct {
		subject string
		roles   []string
	}
	callers := make(chan who, 1)
	s := capability.New("fixture", "1.0.0")
	capability.AddTool(s, "whoami", "Says who calls", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		callers <- who{c.Principal().GetSubject(), c.Principal().GetRoles()}
		return "told", nil
	})
	cfg := harness.Config(harness.Serve(t, "fixture", s).Backend())
	cfg.Listen.Address = address
	id := realm.settings()
	id.Claims.Subject = config.Names{"sub"} // and nothing that two users have in common
	cfg.Auth = &config.Auth{Issuers: []config.Issuer{id}, Metadata: config.AuthMetadata{ScopesSupported: []string{"mcp:read"}}}
	harness.Start(t, cfg)

	for name, client := range map[string]func(*auth.AuthorizationCodeHandlerConfig){
		"mcp-client": nil,
		"registered": func(*auth.AuthorizationCodeHandlerConfig) {},
		"registered with scopes": func(c *auth.AuthorizationCodeHandlerConfig) {
			c.DynamicClientRegistrationConfig.Metadata.Scope = "mcp:read"
		},
	} {
		t.Run(name, func(t *testing.T) {
			subjects := map[string]string{}
			for _, user := range []string{"alice", "carol", "bob"} {
				u := newUser(t, user)
				flow := codeFlow(u.redirect, "mcp-client", u.follow)
				if client != nil {
					flow = codeFlow(u.redirect, "", u.follow)
					client(flow)
				}
				h, err := auth.NewAuthorizationCodeHandler(flow)
				if err != nil {
					t.Fatal(err)
				}
				session, err := connect(t, edge+"/mcp", h)
				if err != nil {
					t.Fatalf("%s: %v", user, err)
				}
				whoami(t, session)
				if err := session.Close(); err != nil {
					t.Error(err)
				}
				got := <-callers
				if other, taken := subjects[got.subject]; got.subject == "" || taken {
					t.Errorf("%s is %q, as is %q", user, got.subject, other)
				}
				subjects[got.subject] = user
				if intern := slices.Contains(got.roles, "intern"); intern != (user == "bob") {
					t.Errorf("%s has the roles %q", user, got.roles)
				}
			}
		})
	}
}
