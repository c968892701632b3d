package e2e

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// resourceToolsAtRoot has an edge serve a set with tools for its resources, which has everything, at its root.
func resourceToolsAtRoot(c *config.Config) {
	c.Root = "desk"
	c.Sets = map[string]config.Set{"desk": {AsTools: config.Names{"resources"}, Include: config.SetMembers{Backends: config.Names{"**"}}}}
}

// readBy reads a URI through read_resource. more are further members of params.
func readBy(t *testing.T, a asker, uri string, more map[string]any) *reply {
	t.Helper()
	members := map[string]any{"name": "read_resource", "arguments": json.RawMessage(`{"uri":` + strconv.Quote(uri) + `}`)}
	for name, value := range more {
		members[name] = value
	}
	if c, ok := a.(*stateless); ok {
		return c.request("tools/call", members, "Mcp-Param-Uri", uri)
	}
	params, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return a.ask("tools/call", string(params))
}

// errorOf returns the error of an answer without its id.
func errorOf(r *reply) string {
	var m struct{ Error json.RawMessage }
	_ = json.Unmarshal(r.body, &m)
	return string(m.Error)
}

// TestResourceToolsEverywhere: in every revision and over every transport, hosts that only have tools list and read the resources of a set, and an
// error is that of the read.
func TestResourceToolsEverywhere(t *testing.T) {
	hidden := func(c *config.Config) {
		c.Catalog = &config.Catalog{Resources: []config.CatalogResource{{Backend: c.Backends[0].Name, Resource: "test://note", Hide: true}}}
	}
	isServed := func(t *testing.T, a asker) {
		t.Helper()
		list := string(a.ask("tools/list", `{}`).body)
		if !strings.Contains(list, `"list_resources"`) || !strings.Contains(list, `"read_resource"`) || !strings.Contains(list, `"add"`) {
			t.Errorf("the list is %s", list)
		}
		listed := text(t, parse(t, a.ask("tools/call", toolParams("list_resources", `{}`, "")).body).result(t))
		if !strings.Contains(listed, `{"uri":"test://bytes","name":"bytes","mimeType":"application/octet-stream"}`) || !strings.Contains(listed, `"uriTemplate":"test://item/{id}"`) || strings.Contains(listed, "test://note") {
			t.Errorf("listed are %s", listed)
		}
		if got := text(t, parse(t, readBy(t, a, "test://item/7", nil).body).result(t)); got != "item 7" {
			t.Errorf("read %q", got)
		}
		if got := string(readBy(t, a, "test://bytes", nil).body); !strings.Contains(got, `"content":[{"type":"resource","resource":{"uri":"test://bytes","mimeType":"application/octet-stream","blob":"AP8="}}]`) {
			t.Errorf("read %s", got)
		}
		for _, uri := range []string{"test://note", "nix0://note"} {
			got, want := errorOf(readBy(t, a, uri, nil)), errorOf(a.ask("resources/read", `{"uri":"`+uri+`"}`))
			if got != want || !strings.Contains(want, "not found: no backend answers for it") {
				t.Errorf("%s is %s\nby its own method %s", uri, got, want)
			}
		}
	}
	_, e := startFixture(t, resourceToolsAtRoot, hidden)
	for _, version := range append(slices.Clone(stateful), v2026) {
		t.Run(version, func(t *testing.T) { isServed(t, askerAt(t, e.URL, version)) })
	}
	t.Run("SSE", func(t *testing.T) {
		harness.OneProcess(t)
		isServed(t, newSSE(t, e, "/sse"))
	})
	for _, version := range append(slices.Clone(stateful), v2026) {
		t.Run("stdio "+version, func(t *testing.T) {
			cfg := harness.Config(only(startService(t, newFixture().Server))...)
			resourceToolsAtRoot(&cfg)
			hidden(&cfg)
			cfg.Root, cfg.Set = "", "desk"
			isServed(t, newStdio(t, cfg, version))
		})
	}
	t.Run("REST", func(t *testing.T) {
		_, _, o := startAdmin(t, resourceToolsAtRoot, hidden)
		if names, _ := o.names("/v1/tools", "tools", "name"); slices.Contains(names, "read_resource") || !slices.Contains(names, "add") {
			t.Errorf("the tools are %v", names)
		}
	})
	t.Run("disabled", func(t *testing.T) {
		_, e, o := startAdmin(t, resourceToolsAtRoot, hidden)
		o.post("/v1/catalog/disable", `{"name":"fixture","kind":"backend"}`).want(http.StatusOK)
		for _, version := range []string{vNov, v2026} {
			a := askerAt(t, e.URL, version)
			got, want := errorOf(readBy(t, a, "test://item/7", nil)), errorOf(a.ask("resources/read", `{"uri":"test://item/7"}`))
			if got != want || !strings.Contains(want, "disabled") {
				t.Errorf("%s: %s\nby its own method %s", version, got, want)
			}
			if listed := text(t, a.ask("tools/call", toolParams("list_resources", `{}`, "")).result()); listed != `{"resources":[],"resourceTemplates":[]}` {
				t.Errorf("%s: listed are %s", version, listed)
			}
		}
	})
}

// TestResourceToolsOfSets: in both eras and over two replicas, a read through read_resource is that of the resource for policy, quotas, questions,
// the audit, and what an operator has disabled.
func TestResourceToolsOfSets(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, server := issuer.Serve(t), redisserver.ForTest(t)
	backends := only(startService(t, newFixture().Server))
	var paths []string
	start := func() *harness.Edge {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		paths = append(paths, path)
		return startEdge(t, backends, withAuth(id), resourceToolsAtRoot, auditTo(path), func(c *config.Config) {
			c.Redis.URL, c.Redis.SealKeys = server.URL(), []string{base64.StdEncoding.EncodeToString(make([]byte, 32))}
			c.Quotas = []config.Quota{quota("principal+tool", 8, "read_resource")}
			c.Policy = &config.Policy{Default: "allow", Rules: []config.PolicyRule{
				{Name: "own-items", When: `has(resource.vars.id) && resource.vars.id != principal.claims.tenant`, Then: "deny"},
				{Name: "no-reads-by-tools", When: `tool.name == "read_resource"`, Then: "deny"},
			}}
		})
	}
	one, two := start(), start()
	token := func(subject string) string { return id.Token(subject, public, map[string]any{"tenant": "acme"}) }
	alice := token("alice")
	as := func(e *harness.Edge, version, token string) asker {
		if version == vNov {
			return sessionAs(t, e, vNov, token)
		}
		return statelessAs(t, e, token)
	}
	for _, version := range []string{vNov, v2026} {
		a := as(one, version, alice)
		if got := text(t, readBy(t, a, "test://item/acme", nil).want(http.StatusOK).result()); got != "item acme" {
			t.Errorf("%s: %q", version, got)
		}
		got, want := errorOf(readBy(t, a, "test://item/other", nil)), errorOf(a.ask("resources/read", `{"uri":"test://item/other"}`))
		if got != want || !strings.Contains(want, "own-items") {
			t.Errorf("%s: against the policy %s\nby its own method %s", version, got, want)
		}
		bob := as(two, version, token("bob-"+version))
		for range 8 {
			readBy(t, bob, "test://item/acme", nil).want(http.StatusOK)
		}
		overQuota(t, readBy(t, bob, "test://item/acme", nil), `principal+tool read_resource`)
		bob.ask("resources/read", `{"uri":"test://item/acme"}`).want(http.StatusOK)
	}
	// A question that one replica asks is answered at the other.
	answer := answers["elicitation/create"]
	s := sessionAs(t, one, vNov, alice)
	asked := readBy(t, s, "test://asked", nil).events()
	s.seenBy(two, alice).answer(asked.awaitMethod("elicitation/create"), answer)
	if got := text(t, asked.message().result(t)); got != "for Ada" {
		t.Errorf("after the answer: %q", got)
	}
	again := retry(t, readBy(t, statelessAs(t, one, alice), "test://asked", nil).result(), `{"name":`+answer+`}`)
	if got := text(t, readBy(t, statelessAs(t, two, alice), "test://asked", again).want(http.StatusOK).result()); got != "for Ada" {
		t.Errorf("without a session: %q", got)
	}
	direct := map[string]any{"uri": "test://asked"}
	for name, value := range again {
		direct[name] = value
	}
	for what, r := range map[string]*reply{
		"another resource": readBy(t, statelessAs(t, two, alice), "test://note", again), "the read itself": statelessAs(t, two, alice).request("resources/read", direct),
		"another caller": readBy(t, statelessAs(t, two, token("eve")), "test://asked", again),
	} {
		if got := string(r.body); !strings.Contains(got, "requestState") || strings.Contains(got, "for Ada") {
			t.Errorf("a state is accepted for %s: %s", what, got)
		}
	}
	if got := string(readBy(t, s, "test://note", map[string]any{"task": map[string]any{}}).body); !strings.Contains(got, `the tool \"read_resource\" cannot be called as a task`) {
		t.Errorf("as a task: %s", got)
	}
	one.End(t)
	two.End(t)
	var got []string
	for _, r := range records(t, paths...) {
		if r.Target == "read_resource" && r.Event == "outcome" && r.Outcome == "bad_state" { // refused before it is known what it reads
			continue
		}
		if line := strings.Join([]string{r.Event, r.Method, r.Target, r.Via, r.Decision + r.Outcome, r.Rule}, " "); !slices.Contains(got, line) {
			got = append(got, line)
		}
	}
	slices.Sort(got)
	want := []string{
		"decision resources/read test://asked read_resource allow default",
		"decision resources/read test://item/acme read_resource allow default",
		"decision resources/read test://item/acme read_resource deny principal+tool read_resource",
		"decision resources/read test://item/other  deny own-items",
		"decision resources/read test://item/other read_resource deny own-items",
		"outcome resources/read test://asked  bad_state ",
		"outcome resources/read test://asked read_resource input_required ",
		"outcome resources/read test://asked read_resource ok ",
		"outcome resources/read test://item/acme  ok ",
		"outcome resources/read test://item/acme read_resource limit ",
		"outcome resources/read test://item/acme read_resource ok ",
		"outcome resources/read test://item/other  forbidden ",
		"outcome resources/read test://item/other read_resource forbidden ",
		"outcome resources/read test://note read_resource method_not_found ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
