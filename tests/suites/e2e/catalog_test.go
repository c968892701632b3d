package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestCatalog: what is hidden is unknown at each door, and what is shown otherwise is so in lists
// alone.
func TestCatalog(t *testing.T) {
	yes := true
	_, e := startFixture(t, func(c *config.Config) {
		name := c.Backends[0].Name
		c.Catalog = &config.Catalog{
			Tools: []config.CatalogTool{
				{Backend: name, Tool: "add", Hide: true},
				{Backend: name, Tool: "e*", Title: "Echo", Description: "Repeats a text.", Annotations: config.CatalogAnnotations{Destructive: &yes}},
			},
			Prompts:   []config.CatalogPrompt{{Backend: name, Prompt: "gree?", Hide: true}, {Backend: name, Prompt: "g**t", Hide: true}},
			Resources: []config.CatalogResource{{Backend: name, Resource: "test://note", Hide: true}, {Backend: name, Resource: "test://item/{id}", Hide: true}},
		}
	})
	for _, version := range append(slices.Clone(stateful), v2026) {
		t.Run(version, func(t *testing.T) {
			var a asker = newStateless(t, e.URL)
			if version != v2026 {
				a = newSession(t, e.URL, version)
			}
			for _, s := range surfaces {
				got, want := unnamed(a.ask(s.method, s.params)), unnamed(a.ask(s.method, s.unknown))
				listens := version == v2026 && s.method == "resources/subscribe" // It waits for the resource to appear.
				if got != want || !listens && !strings.Contains(want, "code") {
					t.Errorf("%s %s: hidden is\n%s\nunknown\n%s", s.method, s.params, got, want)
				}
			}
			if text := string(a.ask("prompts/list", `{}`).want(http.StatusOK).body); strings.Contains(text, `"greet"`) {
				t.Errorf("a hidden prompt is listed: %s", text)
			}
			for _, method := range []string{"resources/list", "resources/templates/list"} {
				if text := string(a.ask(method, `{}`).want(http.StatusOK).body); strings.Contains(text, `"test://note"`) || strings.Contains(text, `"test://item/{id}"`) {
					t.Errorf("%s: a hidden resource is listed: %s", method, text)
				}
			}
			tools := map[string]map[string]any{}
			var list struct{ Tools []map[string]any }
			if err := json.Unmarshal(a.ask("tools/list", `{}`).want(http.StatusOK).final().Result, &list); err != nil {
				t.Fatal(err)
			}
			for _, tool := range list.Tools {
				tools[tool["name"].(string)] = tool
			}
			echo := tools["echo"]
			if tools["add"] != nil || echo["description"] != "Repeats a text." {
				t.Errorf("add is %v, echo %v", tools["add"], echo)
			}
			if version >= vNov && echo["title"] != "Echo" {
				t.Errorf("the title of echo is %v", echo["title"])
			}
			if hints, ok := echo["annotations"].(map[string]any); version > v2024 && (!ok || hints["destructiveHint"] != true) {
				t.Errorf("the annotations of echo are %v", echo["annotations"])
			}
			if m := a.ask("tools/call", toolParams("echo", `{"text":"hello"}`, "")).want(http.StatusOK).final(); !strings.Contains(string(m.Result), "hello") {
				t.Errorf("echo answers %s", m.raw)
			}
		})
	}
}

// TestCatalogIsReadAgain: another catalog is in force soon, at each replica, and those whose lists
// are others are told; a file that cannot be used changes nothing.
func TestCatalogIsReadAgain(t *testing.T) {
	t.Parallel() // it waits for most of its time
	write, set := settingsFile(t)
	service := startService(t, newFixture().Server)
	backends := "backends: [{name: fixture, target: '" + service.Addr + "'}]\n"
	hides := func(tool string) string {
		return backends + "catalog:\n  tools:\n    - {backend: fixture, tool: " + tool + ", hide: true}\n"
	}
	write(hides("add"))
	e := startEdge(t, only(service), set)
	s := newSession(t, e.URL, vNov)
	stream := s.get("").want(200).events()
	sees := func(tool string) bool {
		return strings.Contains(string(s.request("tools/list", "").want(200).body), `"name":"`+tool+`"`)
	}
	if sees("add") || !sees("echo") {
		t.Fatal("add is listed, or echo is not")
	}
	write(hides("echo"))
	await.Until(t, "the other catalog to be in force", func() bool { return sees("add") && !sees("echo") })
	stream.awaitMethod("notifications/tools/list_changed")
	s.call("echo", `{"text":"x"}`).want(200).json().wantError(t, -32602)
	for _, bad := range []string{backends, hides("''"), backends + "catalog: {tools: [{backend: nix, tool: add}]}\n", "catalog: [\n", ""} {
		write(bad)
		awaitMetric(t, e, "mcpedge_settings_stale", 1)
		if sees("echo") || !sees("add") {
			t.Errorf("%q: a catalog that cannot be used is in force", bad)
		}
		write(hides("echo"))
		awaitMetric(t, e, "mcpedge_settings_stale", 0)
	}
	write(hides("nix"))
	stream.awaitMethod("notifications/tools/list_changed")
	if !sees("echo") || !sees("add") {
		t.Error("what no entry hides is hidden")
	}
}

// TestCatalogInREST: the REST API shows what a client sees.
func TestCatalogInREST(t *testing.T) {
	harness.OneProcess(t)
	_, _, o := startAdmin(t, func(c *config.Config) {
		c.Catalog = &config.Catalog{Default: config.CatalogHide, Tools: []config.CatalogTool{{Backend: c.Backends[0].Name, Tool: "add", Title: "Sum"}}}
	})
	if tools, _ := o.names("/v1/tools", "tools", "name"); !slices.Equal(tools, []string{"add"}) {
		t.Errorf("the tools are %q, want add", tools)
	}
	o.get("/v1/tools/add").want(http.StatusOK).has("Sum", "tool", "title")
	o.get("/v1/tools/echo").want(http.StatusNotFound)
	o.post("/v1/tools/echo:call", `{"arguments":{"text":"hello"}}`).want(http.StatusNotFound)
	if prompts, _ := o.names("/v1/prompts", "prompts", "name"); len(prompts) != 0 {
		t.Errorf("the prompts are %q, want none", prompts)
	}
}

// The REST API has a tool by each name by which it can be called.
func TestCatalogAliasesInREST(t *testing.T) {
	_, _, o := startAdmin(t, func(c *config.Config) {
		own := &c.Backends[0]
		own.Prefix = "my_"
		c.Catalog = &config.Catalog{Tools: []config.CatalogTool{
			{Backend: own.Name, Tool: "add", Name: "plus", Aliases: []string{"sum"}},
			{Backend: own.Name, Tool: "echo", Aliases: []string{"say"}},
			{Backend: own.Name, Tool: "ask_name", Aliases: []string{"hidden"}},
			{Backend: own.Name, Tool: "ask_*", Hide: true},
		}}
	})
	for name, shown := range map[string]string{"plus": "plus", "sum": "plus", "say": "my_echo", "my_echo": "my_echo"} {
		o.get("/v1/tools/"+name).want(http.StatusOK).has(shown, "tool", "name")
	}
	o.post("/v1/tools/sum:call", `{"arguments":{"a":1,"b":2}}`).want(http.StatusOK)
	for _, name := range []string{"my_add", "hidden", "my_ask_name"} {
		o.get("/v1/tools/" + name).want(http.StatusNotFound)
	}
}

// The REST API has both names of a tool, its backend, and what the catalog adds to arguments.
func TestCuratedToolInREST(t *testing.T) {
	_, _, o := startAdmin(t, func(c *config.Config) {
		own := &c.Backends[0]
		own.Name, own.Prefix = "sums", "my_"
		c.Catalog = &config.Catalog{Tools: []config.CatalogTool{
			{Backend: own.Name, Tool: "add", Name: "plus", Aliases: []string{"sum"}, Arguments: map[string]config.CatalogArgument{"a": {Value: 2}, "b": {Default: 3}}},
			{Backend: own.Name, Tool: "echo", Arguments: map[string]config.CatalogArgument{"text": {From: "principal.subject"}}},
		}}
	})
	for _, name := range []string{"plus", "sum"} {
		r := o.get("/v1/tools/"+name).want(http.StatusOK).has("plus", "tool", "name").has("my_add", "canonicalName").has("sums", "backend")
		want := `[{"from":"","name":"a","value":2},{"defaultValue":3,"from":"","name":"b"}]`
		if got, err := json.Marshal(r.at("addedArguments")); err != nil || string(got) != want {
			t.Errorf("%s: added are %s, want %s", name, got, want)
		}
	}
	r := o.get("/v1/tools/my_echo").want(http.StatusOK).has("my_echo", "canonicalName")
	if got, err := json.Marshal(r.at("addedArguments")); err != nil || !strings.Contains(string(got), `"from":"principal.subject","name":"text"`) {
		t.Errorf("added are %s", got)
	}
	if got := o.post("/v1/tools/my_echo:call", `{}`).want(http.StatusOK).at("result", "content"); !strings.Contains(fmt.Sprint(got), "admin") {
		t.Errorf("the result is %v", got)
	}
}
