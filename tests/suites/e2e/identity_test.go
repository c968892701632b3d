package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// whoami is a backend whose tool says who is calling.
func whoami() *capability.Server {
	s := capability.New("whoami", "1.0.0")
	addWhoami(s)
	return s
}

// addWhoami adds the tool whoami, and who_asked, which asks for a name before it says the same.
func addWhoami(s *capability.Server) {
	who := func(c *capability.Call) string {
		p := c.Principal()
		tenant, _ := c.Claim("tenant")
		client := map[bool]string{true: "client "}[p.GetSubjectIsClient()]
		return fmt.Sprintf("%s%s %s %v %v %s %s %s %d", client, p.GetSubject(), p.GetIssuer(), p.GetScopes(), p.GetRoles(), p.GetClientId(), p.GetActor(),
			tenant, len(p.GetClaimsJson()))
	}
	capability.AddTool(s, "whoami", "Says who is calling", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		return who(c), nil
	})
	capability.AddTool(s, "who_asked", "Asks for a name, and says who is calling", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		if _, err := capability.Ask[person](c, "name", "Your name?"); err != nil {
			return "", err
		}
		return who(c), nil
	})
}

// askedWho calls who_asked without a session, and answers.
func (c *stateless) askedWho(prefix string) string {
	c.t.Helper()
	asked := c.call(prefix+"who_asked", "").result()
	return c.call(prefix+"who_asked", "", retry(c.t, asked, `{"name":`+answers["elicitation/create"]+`}`)).text()
}

// askedWho calls who_asked in a session, and answers as who may be another.
func (s *session) askedWho(prefix string, by *session) string {
	s.t.Helper()
	stream := s.call(prefix+"who_asked", "").events()
	by.answer(stream.awaitMethod("elicitation/create"), answers["elicitation/create"])
	return text(s.t, stream.response().result(s.t))
}

// TestBackendsKnowTheCaller: a backend is told who is calling, with roles, client, actor and the claims that are meant for
// it, in both eras, and nothing else of the token.
func TestBackendsKnowTheCaller(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	one, two := startService(t, whoami()), startService(t, whoami())
	e := startEdge(t, []config.Backend{
		{Name: "one", Target: one.Addr, Prefix: "one_", Claims: config.Names{"tenant", "region"}},
		{Name: "two", Target: two.Addr, Prefix: "two_"},
	}, withAuth(id))
	for sub, want := range map[any]string{"alice": "alice", "a-client": "client a-client", nil: "client a-client"} {
		token := id.Token("", public, map[string]any{"sub": sub})
		if got := statelessAs(t, e, token).call("one_whoami", "").text(); !strings.HasPrefix(got, want+" "+id.URL) {
			t.Errorf("a token with sub %v: %q, want %s", sub, got, want)
		}
	}
	token := id.Token("alice", public, map[string]any{
		"roles": []string{"admin"}, "tenant": "acme", "region": json.RawMessage(`{"of": ["eu"]}`), "secret": "s", "act": map[string]string{"sub": "agent"},
	})
	who := "alice " + id.URL + " [mcp:read mcp:write] [admin] a-client agent "
	for tool, want := range map[string]string{"one_whoami": who + "acme 2", "two_whoami": who + " 0"} {
		if got := statelessAs(t, e, token).call(tool, "").text(); got != want {
			t.Errorf("%s without a session: %q, want %q", tool, got, want)
		}
		if got := sessionAs(t, e, vNov, token).call(tool, "").text(); got != want {
			t.Errorf("%s in a session: %q, want %q", tool, got, want)
		}
	}
}
