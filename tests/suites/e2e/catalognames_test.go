package e2e

import (
	"encoding/base64"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// A rename changes no decision: rules, quotas and the audit know the canonical name, in both eras,
// in every round and for tasks, and the audit has the client's name as shown.
func TestRenamesChangeNoDecision(t *testing.T) {
	id, path := issuer.Serve(t), filepath.Join(t.TempDir(), "audit.jsonl")
	_, backends, steps := stepping(t)
	backends[0].Name = "steps"
	backends = append(backends, only(startService(t, newFixture().Server))...)
	close(steps)
	e := startEdge(t, backends, withAuth(id), auditTo(path), func(c *config.Config) {
		fixture := c.Backends[len(c.Backends)-1].Name
		c.Catalog = &config.Catalog{
			Tools: []config.CatalogTool{
				{Backend: fixture, Tool: "ask_name", Name: "greet_person"},
				{Backend: fixture, Tool: "two_steps", Name: "ask_name"},
				{Backend: fixture, Tool: "add", Name: "plus", Aliases: []string{"old_plus"}},
				{Backend: fixture, Tool: "echo", Name: "say"},
				{Backend: c.Backends[0].Name, Tool: "steps", Name: "walk"},
			},
			Prompts: []config.CatalogPrompt{{Backend: fixture, Prompt: "ask_prompt", Name: "introduce"}},
		}
		c.Quotas = []config.Quota{quota("principal+tool", 2, "add")}
		c.Policy = &config.Policy{Default: "allow", Rules: []config.PolicyRule{{Name: "no echo", When: `tool.name == "echo"`, Then: "deny"}}}
	})
	alice := id.Token("alice", public)
	const sum = `{"a":1,"b":2}`
	for _, version := range []string{vNov, v2026} {
		var a asker = statelessAs(t, e, alice)
		if version == vNov {
			a = sessionAs(t, e, vNov, alice)
		}
		if got := string(a.ask("tools/call", toolParams("say", `{"text":"x"}`, "")).body); !strings.Contains(got, "no echo") {
			t.Errorf("%s: a rule on the canonical name does not hold: %s", version, got)
		}
		if got := string(a.ask("tools/call", toolParams("echo", `{"text":"x"}`, "")).body); !strings.Contains(got, `unknown tool \"echo\"`) {
			t.Errorf("%s: a name that is no longer shown: %s", version, got)
		}
	}
	s, c := sessionAs(t, e, vNov, alice), statelessAs(t, e, alice)
	s.call("plus", sum).want(http.StatusOK)
	c.call("old_plus", sum).want(http.StatusOK)
	tooMany(t, c.call("plus", sum))
	asked := s.call("greet_person", "").events()
	s.answer(asked.awaitMethod("elicitation/create"), answers["elicitation/create"])
	if got := text(t, asked.message().result(t)); got != "Hello, Ada" {
		t.Errorf("greet_person answers %q", got)
	}
	asking := s.request("prompts/get", `{"name":"introduce"}`).events()
	s.answer(asking.awaitMethod("elicitation/create"), answers["elicitation/create"])
	asking.message().result(t)
	again := retry(t, c.call("greet_person", "").result(), `{"name":`+answers["elicitation/create"]+`}`)
	if got := text(t, c.call("greet_person", "", again).want(http.StatusOK).result()); got != "Hello, Ada" {
		t.Errorf("greet_person answers %q", got)
	}
	made := s.request("tools/call", `{"name":"walk","arguments":{},"task":{}}`).want(http.StatusOK)
	task, _ := dig(made.result(), "task", "taskId").(string)
	await.Until(t, "the task to complete", func() bool {
		return dig(s.request("tasks/get", `{"taskId":"`+task+`"}`).want(http.StatusOK).result(), "status") == "completed"
	})
	e.End(t)

	got := records(t, path)
	shown := map[string]string{"add": "plus", "ask_name": "greet_person", "steps": "walk"}
	seen := map[string]int{}
	for _, r := range got {
		want := shown[r.Target]
		if want == "" || r.Method != "tools/call" && r.Method != "prompts/get" {
			continue
		}
		// A later round, also a task's, knows the canonical name alone.
		switch r.Shown {
		case want:
			seen[r.Target]++
		case "", "old_plus":
		default:
			t.Errorf("%v: shown as %q, want %q", r, r.Shown, want)
		}
	}
	for target := range shown {
		if seen[target] == 0 {
			t.Errorf("no record of %s has its shown name", target)
		}
	}
	if slices.ContainsFunc(got, func(r recorded) bool { return r.Target == "plus" || r.Target == "walk" || r.Target == "introduce" }) {
		t.Errorf("a shown name is a target: %v", got)
	}
}

// An answer to a call of a renamed tool is challenged for the scopes of that tool, also if another
// tool is shown by the canonical name.
func TestStepUpOfAnAnswerToARenamedTool(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	backends := only(startService(t, newFixture().Server))
	for name, shown := range map[string]string{"another tool has the name": "ask_name", "no tool has the name": "other"} {
		t.Run(name, func(t *testing.T) {
			e := startEdge(t, backends, withAuth(id), func(c *config.Config) {
				c.Policy = &config.Policy{Default: "allow", Scopes: []config.PolicyScopes{{Tools: config.Names{"ask_name"}, Need: config.Names{"mcp:write"}}}}
				c.Catalog = &config.Catalog{Tools: []config.CatalogTool{
					{Backend: c.Backends[0].Name, Tool: "ask_name", Name: "first"}, {Backend: c.Backends[0].Name, Tool: "echo", Name: shown},
				}}
			})
			token := func(scope string) string { return id.Token("s", public, map[string]any{"scope": scope}) }
			s := sessionAs(t, e, vNov, token("mcp:write"))
			asked := s.call("first", "").events()
			q := asked.awaitMethod("elicitation/create")
			by := s.seenBy(e, token("mcp:read"))
			by.post(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + answers["elicitation/create"] + `}`).want(http.StatusForbidden)
			by.as(token("mcp:write"))
			by.answer(q, answers["elicitation/create"])
			if got := text(t, asked.message().result(t)); got != "Hello, Ada" {
				t.Errorf("the call ends with %q", got)
			}
		})
	}
}

// A call that asks continues with its tool, on another replica too, if a reload swaps the names of
// two tools before the answer arrives.
func TestSwappedNamesBetweenRounds(t *testing.T) {
	server := redisserver.ForTest(t)
	backends := only(startService(t, newFixture().Server))
	keys := []string{base64.StdEncoding.EncodeToString(make([]byte, 32))}
	start := func(asks, twice string) *harness.Edge {
		return startEdge(t, backends, func(c *config.Config) {
			c.Redis.URL, c.Redis.SealKeys = server.URL(), keys
			c.Catalog = &config.Catalog{Tools: []config.CatalogTool{
				{Backend: c.Backends[0].Name, Tool: "ask_name", Name: asks}, {Backend: c.Backends[0].Name, Tool: "two_steps", Name: twice},
			}}
		})
	}
	before, after := start("first", "second"), start("second", "first")
	s := newSession(t, before.URL, vNov)
	asked := s.call("first", "").events()
	question := asked.awaitMethod("elicitation/create")
	again := retry(t, newStateless(t, before.URL).call("first", "").result(), `{"name":`+answers["elicitation/create"]+`}`)
	s.at(after).answer(question, answers["elicitation/create"])
	if got := text(t, asked.message().result(t)); got != "Hello, Ada" {
		t.Errorf("the call of the session ends with %q", got)
	}
	if got := text(t, newStateless(t, after.URL).call("first", "", again).want(http.StatusOK).result()); got != "Hello, Ada" {
		t.Errorf("the call without a session ends with %q", got)
	}
}
