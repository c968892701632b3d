package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// plans is a backend with plans of each tenant, one of which asks.
func plans() *capability.Server {
	s := capability.New("plans", "1.0.0")
	read := func(_ context.Context, _ *capability.Call, _ string, vars map[string]string) (string, error) {
		return "secret of " + vars["tenant"], nil
	}
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "crm://{tenant}/plan/{id}", Name: "plan"}, read, capability.Suggest("id", "1", "2"))
	for _, text := range []string{"crm://{tenant}/file/{+path}", "crm://search{?tenant,q}"} {
		capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: text, Name: "plan"}, read)
	}
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "crm://{tenant}/ask/{id}", Name: "ask"},
		func(_ context.Context, c *capability.Call, _ string, vars map[string]string) (string, error) {
			who, err := capability.Ask[person](c, "name", "Who?")
			return fmt.Sprintf("secret of %s for %s", vars["tenant"], who.Name), err
		})
	for _, tenant := range []string{"acme", "globex"} {
		capability.AddResource(s, &capability.Resource{Uri: "crm://" + tenant + "/plan/1", Name: tenant},
			func(context.Context, *capability.Call, string) (string, error) { return "secret of " + tenant, nil })
	}
	return s
}

func pinVariables(tenant config.CatalogVariable) func(*config.Config) {
	return func(c *config.Config) {
		c.Catalog = &config.Catalog{Resources: []config.CatalogResource{{Backend: c.Backends[0].Name, Resource: "crm://**", Variables: map[string]config.CatalogVariable{"tenant": tenant}}}}
	}
}

// foreign are spellings of resources of globex, and of none.
var foreign = []string{
	"crm://globex/plan/1", "CRM://globex/plan/1", "crm://%67lobex/plan/1", "crm://%2567lobex/plan/1", "crm://globex/plan/%31", "crm://globex%2Fplan%2F1", "crm://globex//plan/1",
	"crm://globex/plan/1/", "crm://globex/plan/1#acme", "crm://globex/plan/1?tenant=acme", "crm://globex/./plan/1", "crm://acme/../globex/plan/1", "crm://acme/..%2Fglobex/plan/1",
	"crm://acme%2F..%2Fglobex/plan/1", "crm://acme@globex/plan/1", "crm://@globex/plan/1", "crm://globex:/plan/1", "crm://Globex/plan/1", "crm:///plan/1", "crm://acme/file/../../globex/plan/1",
	"crm://acme/file/..%2F..%2Fglobex/file/a", "crm://globex/file/../../acme/file/a", "crm://search?tenant=globex", "crm://search?tenant=", "crm://search", "crm://search?q=1",
	"crm://search?q=1&tenant=globex", "crm://search?tenant=acme&tenant=globex", "crm://search?tenant=globex&tenant=acme", "crm://search%3Ftenant=globex?tenant=acme", "crm://acmeglobex/plan/1",
	"crm://{tenant}/plan/1", "crm://acme%00/plan/1", "crm://globex/ask/1",
}

// TestPinnedVariables: in both eras a caller reads, watches and completes the URIs of its own tenant
// alone, in whatever spelling, and the answer is that for a URI that no list has.
func TestPinnedVariables(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	e := startEdge(t, only(startService(t, plans())), withAuth(id), pinVariables(config.CatalogVariable{From: "principal.claims.tenant"}))
	acme, globex := id.Token("alice", public, map[string]any{"tenant": "acme"}), id.Token("bob", public, map[string]any{"tenant": "globex"})
	for _, version := range []string{vNov, v2026} {
		as := func(token string) asker {
			if version == vNov {
				return sessionAs(t, e, vNov, token)
			}
			return statelessAs(t, e, token)
		}
		own := as(acme)
		for _, uri := range []string{"crm://acme/plan/1", "crm://acme/plan/2", "CRM://%61cme/plan/2", "crm://acme/file/a/b", "crm://search?tenant=acme&q=1"} {
			if got := string(own.ask("resources/read", `{"uri":"`+uri+`"}`).body); !strings.Contains(got, "secret of acme") {
				t.Errorf("%s: %s: %s", version, uri, got)
			}
		}
		unknown := strings.ReplaceAll(unnamed(own.ask("resources/read", `{"uri":"crm:nothing"}`)), "crm:nothing", "URI")
		for _, uri := range foreign {
			if got := strings.ReplaceAll(unnamed(own.ask("resources/read", `{"uri":"`+uri+`"}`)), uri, "URI"); got != unknown {
				t.Errorf("%s: %s: %s, want %s", version, uri, got, unknown)
			}
			if got := string(own.ask("completion/complete", `{"ref":{"type":"ref/resource","uri":"`+uri+`"},"argument":{"name":"id","value":""}}`).body); !strings.Contains(got, "does not exist") {
				t.Errorf("%s: completion of %s: %s", version, uri, got)
			}
		}
		for _, token := range []string{acme, globex, id.Token("carl", public), id.Token("dora", public, map[string]any{"tenant": 7})} {
			got := string(as(token).ask("resources/list", `{}`).body) + string(as(token).ask("resources/templates/list", `{}`).body)
			if strings.Contains(got, "acme") != (token == acme) || strings.Contains(got, "globex") != (token == globex) || strings.Contains(got, "{tenant") {
				t.Errorf("%s: the lists are %s", version, got)
			}
			if got := string(as(token).ask("resources/read", `{"uri":"crm://acme/plan/1"}`).body); strings.Contains(got, "secret") != (token == acme) {
				t.Errorf("%s: %s", version, got)
			}
		}
	}
	s := sessionAs(t, e, vNov, acme)
	if got := string(s.request("completion/complete", `{"ref":{"type":"ref/resource","uri":"crm://acme/plan/{id}"},"argument":{"name":"id","value":""}}`).body); !strings.Contains(got, `["1","2"]`) {
		t.Errorf("the completion is %s", got)
	}
	s.request("resources/subscribe", `{"uri":"crm://acme/plan/1"}`).want(http.StatusOK)
	for _, uri := range foreign {
		if got := string(s.request("resources/subscribe", `{"uri":"`+uri+`"}`).body); !strings.Contains(got, `"error"`) {
			t.Errorf("watched is %s: %s", uri, got)
		}
	}
	// Another caller answers the question of a read.
	asked := statelessAs(t, e, acme).ask("resources/read", `{"uri":"crm://acme/ask/1"}`).want(http.StatusOK).result()
	state, _ := dig(asked, "requestState").(string)
	again := fmt.Sprintf(`{"uri":"crm://acme/ask/1","requestState":%q,"inputResponses":{"name":%s}}`, state, answers["elicitation/create"])
	if got := string(statelessAs(t, e, id.Token("alice", public, map[string]any{"tenant": "globex"})).ask("resources/read", again).body); strings.Contains(got, "secret") || !strings.Contains(got, `"error"`) {
		t.Errorf("the answer with another claim: %s", got)
	}
	if got := string(statelessAs(t, e, acme).ask("resources/read", again).body); !strings.Contains(got, "secret of acme for Ada") {
		t.Errorf("the answer: %s", got)
	}
}

// TestPinnedVariablesInREST: the REST API reads what a client may.
func TestPinnedVariablesInREST(t *testing.T) {
	harness.OneProcess(t)
	e := startEdge(t, only(startService(t, plans())), pinVariables(config.CatalogVariable{Value: "acme"}))
	o := newOperator(t, e)
	o.get("/v1/resources:read?uri=crm://acme/plan/2").want(http.StatusOK).has("secret of acme", "result", "contents", 0, "text")
	for _, uri := range foreign {
		o.get("/v1/resources:read?uri=" + url.QueryEscape(uri)).want(http.StatusNotFound)
	}
	if names, _ := o.names("/v1/resources", "resources", "uri"); len(names) != 1 || names[0] != "crm://acme/plan/1" {
		t.Errorf("the resources are %q", names)
	}
}
