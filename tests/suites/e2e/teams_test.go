package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// sought are the arguments of the tool find.
type sought struct {
	Tenant string `json:"tenant"`
	Query  string `json:"query,omitempty"`
}

// newCRM serves a tool whose tenant is pinned, one that is hidden, one that is denied, and what has no
// entry.
func newCRM() *capability.Server {
	s := capability.New("crm", "1.0.0", capability.WithInstructions("Ask the crm first."))
	capability.AddTool(s, "find", "Finds", func(_ context.Context, _ *capability.Call, in sought) (string, error) {
		return "tenant " + in.Tenant, nil
	})
	for _, name := range []string{"delete_all", "export"} {
		capability.AddTool(s, name, name, func(context.Context, *capability.Call, struct{}) (string, error) { return name + " is done", nil })
	}
	capability.AddPrompt(s, &capability.Prompt{Name: "draft"}, func(context.Context, *capability.Call, map[string]string) (string, error) { return "a draft", nil })
	for _, uri := range []string{"crm://plan", "crm://secret"} {
		capability.AddResource(s, &capability.Resource{Uri: uri, Name: uri}, func(context.Context, *capability.Call, string) (string, error) { return "the text of " + uri, nil })
	}
	return s
}

// crmFile is what the team of the crm says in its file.
const crmFile = `
catalog:
  tools:
    - {tool: find, name: crm_find_customer, arguments: {tenant: {value: acme}}}
    - {tool: "delete_*", hide: true}
  resources:
    - {resource: "crm://secret", hide: true}
policy:
  rules:
    - {name: no-exports, when: 'tool.name == "crm_export" || tool.name == "add"', then: deny}
`

// teamsEdge is an edge whose settings include the files of two teams.
type teamsEdge struct {
	*governed
	status *caller
}

// startTeams starts an edge with the files of the pay's team, and what prepare does to those of the crm's.
func startTeams(t *testing.T, more string, prepare func(e *teamsEdge)) *teamsEdge {
	t.Helper()
	crm, pay := harness.Serve(t, "crm", newCRM()), harness.Serve(t, "pay", adder("add"))
	settings := "backends:\n" + backend("crm", crm, ", prefix: crm_") + backend("pay", pay, "") + `
include:
- {name: crm-team, file: teams/crm/*.yaml, owns: {backends: [crm], prefixes: [crm_], sets: [crm]}, may: [catalog, policy, sets]}
- {name: pay-team, file: teams/pay.yaml, owns: {backends: [pay]}, may: [catalog]}
` + more
	g := &governed{t: t, file: filepath.Join(t.TempDir(), "edge.yaml"), generation: 1}
	g.write(settings)
	e := &teamsEdge{governed: g}
	e.put("teams/pay.yaml", "catalog: {prompts: [{prompt: greet, hide: true}]}\n")
	prepare(e)
	cfg, err := config.Load("serve", []string{"--config", g.file}, func(string) (string, bool) { return "", false }, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	g.Edge = harness.Start(t, cfg)
	e.status = newCaller(t, "http://"+e.Admin+"/v1/status")
	return e
}

// put writes a file beside the settings; "-" removes it.
func (e *teamsEdge) put(name, text string) {
	e.t.Helper()
	path := filepath.Join(filepath.Dir(e.file), name)
	if text == "-" {
		if err := os.RemoveAll(path); err != nil {
			e.t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		e.t.Fatal(err)
	}
	harness.Write(e.t, path, text)
}

// owner returns the state of an owner as operators see it.
func (e *teamsEdge) owner(name string) map[string]any {
	e.t.Helper()
	r := e.status.send(e.t, http.MethodGet, "").want(http.StatusOK)
	for _, o := range object(e.t, r.body)["settings"].(map[string]any)["owners"].([]any) {
		if one := o.(map[string]any); one["name"] == name {
			return one
		}
	}
	e.t.Fatalf("no owner %q in %s", name, r.body)
	return nil
}

// await waits for the state of the crm's team, and for an error with a text.
func (e *teamsEdge) await(state, text string) {
	e.t.Helper()
	await.Until(e.t, "the files of the crm's team to be "+state+", "+text, func() bool {
		o := e.owner("crm-team")
		reason, _ := o["error"].(string)
		return o["state"] == state && (reason == "") == (text == "") && strings.Contains(reason, text)
	})
	value := 1.0
	if text == "" {
		value = 0
	}
	awaitMetric(e.t, e.Edge, `mcpedge_settings_owner_stale{mcpedge_settings_owner="crm-team"`, value)
	if o := e.owner("pay-team"); o["state"] != "in-force" {
		e.t.Errorf("the other team: %v", o)
	}
}

// wantCurated fails if anything of the crm is served that its team's file does not allow, or if the
// other team notices. With hidden, nothing of the crm may be served.
func (e *teamsEdge) wantCurated(what string, hidden bool) {
	t := e.t
	t.Helper()
	for _, version := range []string{vNov, v2026} {
		var a asker = newStateless(t, e.URL)
		if version != v2026 {
			a = newSession(t, e.URL, version)
		}
		ask := func(method, params string) string { return string(a.ask(method, params).want(http.StatusOK).body) }
		served := map[string]bool{"crm_find_customer": !hidden, "crm_export": false, "crm_delete_all": false, "crm_find": false, "add": true}
		for name, is := range served {
			if tools := ask("tools/list", `{}`); strings.Contains(tools, `"name":"`+name+`"`) != is {
				t.Errorf("%s, %s: %s is listed: %v: %s", what, version, name, !is, tools)
			}
		}
		if prompts := ask("prompts/list", `{}`); strings.Contains(prompts, `"crm_draft"`) == hidden || strings.Contains(prompts, `"greet"`) {
			t.Errorf("%s, %s: the prompts are %s", what, version, prompts)
		}
		if resources := ask("resources/list", `{}`); strings.Contains(resources, `"crm://plan"`) == hidden || strings.Contains(resources, `"crm://secret"`) {
			t.Errorf("%s, %s: the resources are %s", what, version, resources)
		}
		for _, call := range []struct{ name, args, unless string }{
			{"crm_delete_all", `{}`, "is done"}, {"crm_export", `{}`, "is done"}, {"crm_find", `{"tenant":"evil"}`, "evil"},
			{"crm_find_customer", `{"tenant":"evil"}`, "tenant evil"},
		} {
			if r := a.ask("tools/call", toolParams(call.name, call.args, "")); strings.Contains(string(r.body), call.unless) || !strings.Contains(string(r.body), `"error"`) {
				t.Errorf("%s, %s: %s answers %s", what, version, call.name, r.body)
			}
		}
		if r := a.ask("tools/call", toolParams("crm_find_customer", `{}`, "")); strings.Contains(string(r.body), "tenant acme") == hidden {
			t.Errorf("%s, %s: crm_find_customer answers %s", what, version, r.body)
		}
		for uri, is := range map[string]bool{"crm://plan": !hidden, "crm://secret": false, "crm://%73ecret": false} {
			if r := a.ask("resources/read", `{"uri":"`+uri+`"}`); strings.Contains(string(r.body), "the text of") != is {
				t.Errorf("%s, %s: %s is %s", what, version, uri, r.body)
			}
		}
		if r := a.ask("prompts/get", `{"name":"crm_draft"}`); strings.Contains(string(r.body), "a draft") == hidden {
			t.Errorf("%s, %s: crm_draft is %s", what, version, r.body)
		}
		if r := a.ask("tools/call", addition); !strings.Contains(string(r.body), "3") {
			t.Errorf("%s, %s: the other team's tool answers %s", what, version, r.body)
		}
	}
}

// breakage is what happens to the files of a team.
type breakage struct {
	what string
	do   func(e *teamsEdge)
	// state is that of its owner afterwards while it runs; after a start, it is hidden.
	state, reason string
}

func written(text string) func(e *teamsEdge) {
	return func(e *teamsEdge) { e.put("teams/crm/crm.yaml", text) }
}

var breakages = []breakage{
	{"deleted", written("-"), "hidden", "there is no such file"},
	{"corrupt", written("catalog: {tools: [{tool: find, \x01"), "stale", "crm.yaml"},
	{"truncated to nothing", written(""), "hidden", "it is empty"},
	{"truncated", written(crmFile[:strings.Index(crmFile, "delete_")+4]), "stale", "crm.yaml"},
	{"without its directory", func(e *teamsEdge) { e.put("teams/crm", "-") }, "hidden", "there is no such file"},
	{"half mounted", func(e *teamsEdge) {
		e.put("teams/crm/keep.txt", "")
		e.put("teams/crm/crm.yaml", "-")
		if err := os.Symlink("..data/crm.yaml", filepath.Join(filepath.Dir(e.file), "teams/crm/crm.yaml")); err != nil {
			e.t.Fatal(err)
		}
	}, "hidden", "no such file"},
	{"too large", written(strings.Repeat("# a comment\n", 30_000) + crmFile), "hidden", "it is larger than 256KiB"},
	{"for another backend", written(crmFile + "    - {name: x, when: 'true', then: allow}\n"), "stale", `"allow" is the platform's`},
	{"with another's backend", written("catalog: {tools: [{backend: pay, tool: add, hide: true}]}\n"), "stale", `"pay" is not the owner's`},
	{"with a default", written("catalog: {default: show}\npolicy: {default: allow}\n"), "stale", "catalog.default: it is the platform's"},
	{"with a target", written("backends: [{name: crm, target: 'evil:1'}]\n"), "stale", "backends: it is the platform's"},
}

// TestTeamFilesWhileRunning: whatever happens to the files of a team, nothing of its backend is served
// otherwise than it was reviewed, the other team does not notice, and no call fails.
func TestTeamFilesWhileRunning(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	e := startTeams(t, "", written(crmFile))
	e.await("in-force", "")
	e.wantCurated("at the start", false)
	stop, renewed := adding(t, e.Edge)
	defer stop()
	for _, b := range breakages {
		b.do(e)
		e.await(b.state, b.reason)
		e.wantCurated(b.what, b.state == "hidden")
		renewed()
		e.put("teams/crm/crm.yaml", "-")
		e.put("teams/crm/crm.yaml", crmFile)
		e.await("in-force", "")
		e.wantCurated("after it was "+b.what, false)
	}
	stop()
}

// TestTeamFilesAtAStart: an edge starts without the files of a team, whose backend is hidden until they
// can be used.
func TestTeamFilesAtAStart(t *testing.T) {
	harness.OneProcess(t)
	for _, b := range breakages {
		t.Run(b.what, func(t *testing.T) {
			t.Parallel() // it waits for most of its time
			e := startTeams(t, "", b.do)
			e.await("hidden", b.reason)
			e.wantCurated(b.what, true)
			if got := fmt.Sprint(newSession(t, e.URL, vNov).hello["instructions"]); strings.Contains(got, "Ask the crm first.") {
				t.Errorf("the instructions are %q", got)
			}
			e.put("teams/crm/crm.yaml", "-")
			e.put("teams/crm/crm.yaml", crmFile)
			e.await("in-force", "")
			e.wantCurated("once it can be used", false)
		})
	}
}

// TestTeamFilesAreChanged: a team changes, adds and removes files under load; clients are told, and an
// operator rolls back to what it said before.
func TestTeamFilesAreChanged(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	e := startTeams(t, "", written(crmFile))
	stream := newSession(t, e.URL, vNov).get("").want(200).events()
	lists := func() []string {
		return names(newStateless(t, e.URL).request("tools/list", nil).result()["tools"], "name")
	}
	stop, renewed := adding(t, e.Edge)
	defer stop()
	digest := e.owner("crm-team")["digest"]
	e.put("teams/crm/more.yaml", "catalog: {tools: [{tool: export, title: Export}, {tool: find, title: Find}]}\n")
	stream.awaitMethod("notifications/tools/list_changed")
	await.Until(t, "the owner has two files and another digest", func() bool { // The notification may have been of the start.
		o := e.owner("crm-team")
		return o["digest"] != digest && len(o["files"].([]any)) == 2
	})
	e.put("teams/crm/~more.yaml~", "nonsense")
	e.put("teams/crm/.#more.yaml", "nonsense")
	e.put("teams/crm/more.yaml", "-")
	e.await("stale", "more.yaml: it no longer exists")
	e.put("teams/crm/crm.yaml", strings.Replace(crmFile, "crm_find_customer", "crm_search", 1))
	e.put("teams/crm/more.yaml", "catalog: {}\n")
	e.await("in-force", "")
	await.Until(t, "the other name", func() bool { return slices.Contains(lists(), "crm_search") })
	newCaller(t, "http://"+e.Admin+"/v1/settings/rollback").send(t, http.MethodPost, "{}", "Content-Type", "application/json").want(http.StatusOK)
	if got := lists(); !slices.Contains(got, "crm_find_customer") || slices.Contains(got, "crm_search") {
		t.Errorf("rolled back, the tools are %q", got)
	}
	renewed()
	stop()
}

// TestTeamsRulesAreRecorded: a rule of a team decides about its backend alone, and the audit names the
// team.
func TestTeamsRulesAreRecorded(t *testing.T) {
	harness.OneProcess(t)
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	e := startTeams(t, fmt.Sprintf("audit: {file: %q}\n", path), written(crmFile))
	c := newStateless(t, e.URL)
	c.ask("tools/call", addition).want(http.StatusOK)
	if m := c.ask("tools/call", toolParams("crm_export", `{}`, "")).final(); m.Error == nil {
		t.Errorf("it is allowed: %s", m.raw)
	}
	await.Until(t, "the records", func() bool {
		text, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(text), `"rule":"crm-team/no-exports"`)
	})
	for _, r := range records(t, path) {
		if r.Rule == "crm-team/no-exports" && (r.Target != "crm_export" || r.Decision != "deny") {
			t.Errorf("a record is %s", r)
		}
	}
	awaitMetric(t, e.Edge, `mcpedge_policy_denied_total{mcpedge_policy_rule="crm-team/no-exports"`, 1)
}

// TestSetsOfTeams: a team's set has its own backend alone, in every revision. It is served as it was while
// the team's file is broken, and not at all while that is away.
func TestSetsOfTeams(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	const set = "sets: {crm: {include: {backends: ['**'], tools: ['**'], resources: ['**'], prompts: ['**']}, exclude: {resources: ['crm://plan']}}}\n"
	e := startTeams(t, "", written(crmFile+set))
	wantServed := func(what string) {
		t.Helper()
		for _, version := range []string{vNov, v2026} {
			a := askerAt(t, e.URL+"/crm", version)
			if tools := string(a.ask("tools/list", `{}`).want(http.StatusOK).body); !strings.Contains(tools, `"crm_find_customer"`) || strings.Contains(tools, `"add"`) {
				t.Errorf("%s, %s: the tools are %s", what, version, tools)
			}
			if r := a.ask("tools/call", addition); !strings.Contains(string(r.body), `"error"`) {
				t.Errorf("%s, %s: another team's tool answers %s", what, version, r.body)
			}
			if r := a.ask("resources/read", `{"uri":"crm://plan"}`); strings.Contains(string(r.body), "the text of") {
				t.Errorf("%s, %s: an excluded resource is %s", what, version, r.body)
			}
		}
	}
	wantServed("at the start")
	written(crmFile + strings.Replace(set, "exclude", "excludes", 1))(e)
	e.await("stale", "crm.yaml")
	wantServed("while it is broken")
	written("-")(e)
	e.await("hidden", "there is no such file")
	newCaller(t, e.URL+"/crm").send(t, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Content-Type", "application/json", "Accept", "application/json, text/event-stream").want(http.StatusNotFound)
	written(crmFile + set)(e)
	e.await("in-force", "")
	wantServed("once it is back")
}

// TestTeamFilesOfReplicas: a client whose requests reach replicas that see a team's file at different times is notified
// again when the later one has changed.
func TestTeamFilesOfReplicas(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	redis := redisserver.ForTest(t)
	more := fmt.Sprintf("redis: {url: %q}\n", redis.URL())
	early, late := startTeams(t, more, written(crmFile)), startTeams(t, more, written(crmFile))
	here := newSession(t, early.URL, vNov)
	there := here.at(late.Edge)
	stream := here.get("").want(http.StatusOK).events()
	const old, renamed = "crm_find_customer", "crm_search"
	text := strings.Replace(crmFile, old, renamed, 1)
	written(text)(early)
	stream.awaitMethod("notifications/tools/list_changed")
	if got := toolsOf(here); !slices.Contains(got, renamed) {
		t.Errorf("where the file has changed, the tools are %q", got)
	}
	if got := toolsOf(there); !slices.Contains(got, old) {
		t.Errorf("where it has not, the tools are %q", got)
	}
	written(text)(late)
	stream.awaitMethod("notifications/tools/list_changed")
	if got := toolsOf(there); !slices.Contains(got, renamed) || slices.Contains(got, old) {
		t.Errorf("after the second notification the tools are %q", got)
	}
}
