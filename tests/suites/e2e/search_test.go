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
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// searchAtRoot has an edge serve a set with search, which has everything, at its root.
func searchAtRoot(c *config.Config) {
	c.Root = "desk"
	c.Sets = map[string]config.Set{"desk": {Search: config.SearchOn, Include: config.SetMembers{Tools: config.Names{"**"}}}}
}

// wrapped calls a tool through call_tool. more are further members of params.
func wrapped(t *testing.T, a asker, tool, arguments string, more map[string]any) *reply {
	t.Helper()
	members := map[string]any{"name": "call_tool", "arguments": json.RawMessage(`{"name":` + strconv.Quote(tool) + `,"arguments":` + arguments + `}`)}
	for name, value := range more {
		members[name] = value
	}
	if c, ok := a.(*stateless); ok {
		return c.request("tools/call", members, "Mcp-Param-Tool", tool)
	}
	params, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return a.ask("tools/call", string(params))
}

// pinSpellings are spellings of the argument tenant that some backend may read as it.
var pinSpellings = []string{
	`tenant`, `Tenant`, `TENANT`, `tENANT`, `_tenant`, `tenant_`, `te_nant`, `t_e_n_a_n_t`, `te-nant`, `te.nant`, `te nant`, `tenant[0]`, `tenant[]`, `tenant[$ne]`, `tenant.x`, `.tenant.x`,
	`\u0074enant`, `t\u0065nant`, `tenan\u0074`, `\u0054ENANT`, `tenant .x`, `[tenant][0]`, `te\u005fnant`,
}

// TestSearchOfSets: in both eras and over two replicas, a call through call_tool is that of the tool for policy, quotas, pinned arguments,
// questions, tasks and the audit.
func TestSearchOfSets(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, server := issuer.Serve(t), redisserver.ForTest(t)
	backends := only(startService(t, tenants()))
	var paths []string
	start := func() *harness.Edge {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		paths = append(paths, path)
		return startEdge(t, backends, withAuth(id), pinTenant, searchAtRoot, auditTo(path), func(c *config.Config) {
			c.Redis.URL, c.Redis.SealKeys = server.URL(), []string{base64.StdEncoding.EncodeToString(make([]byte, 32))}
			c.Quotas = []config.Quota{quota("principal+tool", 4, "find")}
			c.Policy = &config.Policy{Default: "allow", Rules: []config.PolicyRule{{Name: "no-secrets", When: `tool.name == "find" && has(arguments.query) && arguments.query == "secret"`, Then: "deny"}}}
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
		if got := string(a.ask("tools/list", `{}`).body); !strings.Contains(got, `"call_tool"`) || strings.Contains(got, `"ask"`) {
			t.Errorf("%s: the list is %s", version, got)
		}
		result := a.ask("tools/call", toolParams("find_tools", `{"query":"finds"}`, "")).want(http.StatusOK).result()
		if tools, _ := dig(result, "structuredContent", "tools").([]any); len(tools) == 0 || dig(tools[0].(map[string]any), "name") != "find" {
			t.Errorf("%s: found %v", version, result)
		}
		if got := text(t, wrapped(t, a, "find", `{"query":"x"}`, nil).want(http.StatusOK).result()); got != "find of acme" {
			t.Errorf("%s: %q", version, got)
		}
		for _, name := range pinSpellings {
			for _, value := range []string{`"other"`, `null`} {
				if got := string(wrapped(t, a, "find", `{"`+name+`":`+value+`}`, nil).body); !strings.Contains(got, "not accepted") {
					t.Errorf("%s: %s: %s", version, name, got)
				}
			}
		}
		if got := string(wrapped(t, a, "find", `{"query":"secret"}`, nil).body); !strings.Contains(got, "no-secrets") {
			t.Errorf("%s: against the policy: %s", version, got)
		}
		got, want := unnamed(wrapped(t, a, "nix00", `{}`, nil)), unnamed(a.ask("tools/call", toolParams("nix00", `{}`, "")))
		if got != want || !strings.Contains(want, "unknown tool") {
			t.Errorf("%s: an unknown tool is\n%s\ndirectly\n%s", version, got, want)
		}
		bob := as(two, version, token("bob-"+version))
		for range 4 {
			wrapped(t, bob, "find", `{}`, nil).want(http.StatusOK)
		}
		overQuota(t, wrapped(t, bob, "find", `{}`, nil), `principal+tool find`)
	}
	// A question that one replica asks is answered at the other.
	answer := answers["elicitation/create"]
	s := sessionAs(t, one, vNov, alice)
	asked := wrapped(t, s, "ask", `{}`, nil).events()
	s.seenBy(two, alice).answer(asked.awaitMethod("elicitation/create"), answer)
	if got := text(t, asked.message().result(t)); got != "ask of acme by Ada" {
		t.Errorf("after the answer: %q", got)
	}
	again := retry(t, wrapped(t, statelessAs(t, one, alice), "ask", `{}`, nil).result(), `{"name":`+answer+`}`)
	if got := text(t, wrapped(t, statelessAs(t, two, alice), "ask", `{}`, again).want(http.StatusOK).result()); got != "ask of acme by Ada" {
		t.Errorf("without a session: %q", got)
	}
	for what, r := range map[string]*reply{
		"other arguments": wrapped(t, statelessAs(t, two, alice), "ask", `{"query":"x"}`, again), "another tool": wrapped(t, statelessAs(t, two, alice), "work", `{}`, again),
		"the tool itself": statelessAs(t, two, alice).call("ask", `{}`, again), "another caller": wrapped(t, statelessAs(t, two, token("eve")), "ask", `{}`, again),
		"the pinned argument": wrapped(t, statelessAs(t, two, alice), "ask", `{"tenant":"other"}`, again),
	} {
		if strings.Contains(string(r.body), " of ") {
			t.Errorf("a state is accepted for %s: %s", what, r.body)
		}
	}
	// A task is one of the tool.
	made := wrapped(t, s, "work", `{}`, map[string]any{"task": map[string]any{}}).want(http.StatusOK)
	task, _ := dig(made.result(), "task", "taskId").(string)
	await.Until(t, "the task to complete", func() bool {
		return dig(s.seenBy(two, alice).request("tasks/get", `{"taskId":"`+task+`"}`).want(http.StatusOK).result(), "status") == "completed"
	})
	if got := text(t, s.seenBy(two, alice).request("tasks/result", `{"taskId":"`+task+`"}`).want(http.StatusOK).result()); got != "work of acme" {
		t.Errorf("the task: %q", got)
	}
	if got := string(s.ask("tools/call", `{"name":"call_tool","arguments":{"nome":"work"},"task":{}}`).body); !strings.Contains(got, `call_tool does not take \"nome\"`) || !strings.Contains(got, `"error":`) {
		t.Errorf("a task of no tool: %s", got)
	}
	if got := string(wrapped(t, s, "find", `{}`, map[string]any{"task": map[string]any{}}).body); !strings.Contains(got, `the tool \"find\" cannot be called as a task`) {
		t.Errorf("a task of a tool without tasks: %s", got)
	}
	one.End(t)
	two.End(t)
	var targets []string
	refused := 0
	for _, r := range records(t, paths...) {
		if r.Target == "call_tool" && r.Event == "outcome" && r.Outcome == "bad_state" { // refused before it is known what it calls
			refused++
			continue
		}
		if via := map[string]string{"find": "call_tool", "work": "call_tool"}; (r.Target == "find" || r.Target == "work" && r.Method == "tools/call" || r.Target == "find_tools") && r.Via != via[r.Target] {
			t.Errorf("called via %q: %v", r.Via, r)
		}
		if r.Method == "tools/call" && !slices.Contains(targets, r.Event+" "+r.Target) {
			targets = append(targets, r.Event+" "+r.Target)
		}
	}
	slices.Sort(targets)
	const want = "decision ask,decision find,decision find_tools,decision work,outcome ask,outcome call_tool,outcome find,outcome find_tools,outcome nix00,outcome work"
	if got := strings.Join(targets, ","); got != want || refused != 4 {
		t.Errorf("recorded, beside %d refused states:\n%s\nwant:\n%s", refused, got, want)
	}
}

// TestSearchMakesTasks: without sessions a call through call_tool that takes long becomes a task of the tool.
func TestSearchMakesTasks(t *testing.T) {
	_, backends, steps := stepping(t)
	e := startEdge(t, backends, searchAtRoot)
	c := newStateless(t, e.URL, withTasks)
	made := wrapped(t, c, "steps", `{}`, nil).want(http.StatusOK).result()
	task, _ := made["taskId"].(string)
	if made["resultType"] != "task" || task == "" {
		t.Fatalf("no task: %v", made)
	}
	close(steps)
	var got map[string]any
	await.Until(t, "the task to complete", func() bool {
		got = c.request("tasks/get", map[string]any{"taskId": task}).want(http.StatusOK).result()
		return got["status"] == "completed"
	})
	if result, _ := got["result"].(map[string]any); text(t, result) != "done" {
		t.Errorf("the task: %v", got)
	}
}

// TestSearchOverStdio: a set with search is the same over stdio, in every revision.
func TestSearchOverStdio(t *testing.T) {
	for _, version := range append(slices.Clone(stateful), v2026) {
		cfg := harness.Config(only(startService(t, newFixture().Server))...)
		searchAtRoot(&cfg)
		cfg.Root, cfg.Set = "", "desk"
		a := newStdio(t, cfg, version)
		if got := string(a.ask("tools/call", toolParams("find_tools", `{"query":"sum of two numbers"}`, "")).body); !strings.Contains(got, `\"name\":\"add\"`) {
			t.Errorf("%s: found %s", version, got)
		}
		if got := string(wrapped(t, a, "add", `{"a":1,"b":2}`, nil).body); !strings.Contains(got, `{\"sum\":3}`) {
			t.Errorf("%s: %s", version, got)
		}
	}
}
