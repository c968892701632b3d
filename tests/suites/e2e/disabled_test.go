package e2e

import (
	"context"
	"encoding/json"
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

const (
	disabledText = "is disabled by the operator of this server"
	anAddition   = `{"a":1,"b":2}`
	forbidden    = -31403
)

// refuses reports whether an edge refuses a tool; it is an error if that is not so in both eras and by REST, or if it is listed.
func refuses(t *testing.T, e *harness.Edge, o *operator, tool string) bool {
	t.Helper()
	m := newStateless(t, e.URL).call(tool, anAddition).final()
	if m.Error == nil {
		return false
	}
	for what, m := range map[string]message{"without sessions": m, "with sessions": newSession(t, e.URL, vNov).call(tool, anAddition).final()} {
		if m.wantError(t, forbidden); !strings.Contains(m.Error.Message, disabledText) || strings.Contains(m.Error.Message, "SECRET") {
			t.Errorf("%s: %s", what, m.raw)
		}
	}
	if r := o.post("/v1/tools/"+tool+":call", `{"arguments":`+anAddition+`}`); r.status != http.StatusForbidden || !strings.Contains(r.text, disabledText) {
		t.Errorf("REST: %d %s", r.status, r.text)
	}
	if listed := names(newStateless(t, e.URL).request("tools/list", nil).result()["tools"], "name"); slices.Contains(listed, tool) {
		t.Errorf("it is listed: %q", listed)
	}
	return true
}

// recordsWith returns the records of an audit about a method, with the given member of that value.
func recordsWith(t *testing.T, path, member, value string) (out []map[string]any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r[member] == value {
			out = append(out, r)
		}
	}
	return out
}

// disabling is two replicas on one Redis, with an audit each.
type disabling struct {
	*testing.T
	f        *fixture
	backends []config.Backend
	redis    *redisserver.Server
	audit    string
	edges    []*harness.Edge
	ops      []*operator
}

func startDisabling(t *testing.T) *disabling {
	t.Helper()
	return startDisablingOn(t, redisserver.ForTest(t))
}

func startDisablingOn(t *testing.T, redis *redisserver.Server) *disabling {
	t.Helper()
	d := &disabling{T: t, f: newFixture(), redis: redis, audit: filepath.Join(t.TempDir(), "audit-{replica}.jsonl")}
	d.backends = only(startService(t, d.f.Server))
	d.start()
	d.start()
	return d
}

// start starts one more replica and returns its index.
func (d *disabling) start() int {
	d.Helper()
	n := len(d.edges)
	d.edges = append(d.edges, harness.Start(d.T, d.config(n)))
	d.ops = append(d.ops, newOperator(d.T, d.edges[n]))
	return n
}

// config returns the settings of a replica.
func (d *disabling) config(n int) config.Config {
	c := harness.Config(d.backends...)
	auditTo(d.audit)(&c)
	c.Redis.URL, c.Server.Replica = d.redis.URL(), fmt.Sprint("r", n)
	c.Sets = map[string]config.Set{"s": {Include: config.SetMembers{Backends: config.Names{"fixture"}}}}
	return c
}

// eventually waits until a replica refuses a tool at every door, or serves it.
func (d *disabling) eventually(n int, tool string, refused bool) {
	d.Helper()
	await.Until(d.T, fmt.Sprintf("replica %d to refuse %s: %t", n, tool, refused), func() bool {
		return (newStateless(d.T, d.edges[n].URL).call(tool, anAddition).final().Error != nil) == refused
	})
	if refuses(d.T, d.edges[n], d.ops[n], tool) != refused {
		d.Errorf("replica %d refuses %s: %t", n, tool, !refused)
	}
}

// TestDisabledOnAllReplicas: what is disabled at one replica is refused at all of them, in both eras and by REST, while running calls
// end, until it is enabled at any of them. It outlives replicas, and a Redis that comes back empty.
func TestDisabledOnAllReplicas(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	d := startDisabling(t)
	s := newSession(t, d.edges[1].URL, vNov)
	changes := s.get("").want(http.StatusOK).events()
	listens := newStateless(t, d.edges[1].URL).request("subscriptions/listen", map[string]any{"notifications": map[string]bool{"toolsListChanged": true}}).events()
	listens.awaitMethod("notifications/subscriptions/acknowledged")
	running := s.callWithProgress("gate", `{"name":"running"}`, "p").events()
	await.Receive(t, "the call to run", d.f.started)
	asking := newSession(t, d.edges[1].URL, vNov)
	asked := asking.call("ask_name", "").want(http.StatusOK).events()
	question := asked.awaitMethod("elicitation/create")
	again := retry(t, newStateless(t, d.edges[1].URL).call("ask_name", "").result(), `{"name":`+answers["elicitation/create"]+`}`)

	for _, tool := range []string{"add", "gate", "ask_name"} {
		d.ops[0].post("/v1/catalog/disable", `{"name":"`+tool+`","reason":"SECRET"}`).want(http.StatusOK).
			has(tool, "disabled", "name").has("tool", "disabled", "kind").has("fixture", "disabled", "backend").has("admin", "disabled", "operator", "subject")
	}
	for n := range d.edges {
		for _, tool := range []string{"add", "gate", "ask_name"} {
			d.eventually(n, tool, true)
		}
		for _, path := range []string{"/v1/status", "/v1/catalog/disabled"} {
			d.ops[n].get(path).want(http.StatusOK).has("add", "disabled", 0, "name").has("SECRET", "disabled", 0, "reason")
		}
		awaitMetric(t, d.edges[n], "mcpedge_catalog_disabled", 3)
	}
	for _, stream := range []*stream{changes, listens} {
		stream.awaitMethod("notifications/tools/list_changed")
	}
	close(d.f.gate("running"))
	if got := text(t, running.response().result(t)); got != "passed running" {
		t.Errorf("a running call gave %q", got)
	}
	asking.answer(question, answers["elicitation/create"])
	if m := asked.response(); m.Error == nil || !strings.Contains(m.Error.Message, disabledText) {
		t.Errorf("a later round with a session: %s", m.raw)
	}
	if m := newStateless(t, d.edges[0].URL).call("ask_name", "", again).final(); m.Error == nil || !strings.Contains(m.Error.Message, disabledText) {
		t.Errorf("a later round without one: %s", m.raw)
	}

	d.edges[0].End(t)
	fresh := d.start()
	if !refuses(t, d.edges[fresh], d.ops[fresh], "add") {
		t.Error("a replica that starts serves what is disabled")
	}
	d.redis.Kill()
	await.Until(t, "the lost Redis to be noticed", func() bool { _, reachable, _ := d.ops[1].state(); return !reachable })
	if m := newStateless(t, d.edges[1].URL).call("add", anAddition).final(); m.Error == nil || !strings.Contains(m.Error.Message, disabledText) {
		t.Errorf("while Redis is away: %s", m.raw)
	}
	d.ops[1].post("/v1/catalog/enable", `{"name":"add"}`).want(http.StatusServiceUnavailable)
	if err := d.redis.Restart(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "Redis to be found again", func() bool { _, reachable, _ := d.ops[1].state(); return reachable })
	d.eventually(d.start(), "add", true)
	for _, n := range []int{1, fresh} {
		d.eventually(n, "add", true)
	}
	d.ops[1].post("/v1/catalog/enable", `{"name":"add"}`).want(http.StatusOK).has("add", "enabled", "name")
	for n := 1; n < len(d.edges); n++ {
		d.eventually(n, "add", false)
		d.eventually(n, "gate", true)
	}
}

// TestDisabledBackendAndSet: a backend is disabled with all it has; a set at its endpoint. Operators are recorded with their reasons, and
// refusals as theirs.
func TestDisabledBackendAndSet(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	d := startDisabling(t)
	at := d.edges[1].URL + "/s"
	set := func() message { return newStateless(t, at).call("add", anAddition).final() }
	d.ops[0].post("/v1/catalog/disable", `{"name":"s","reason":"SECRET of the set"}`).want(http.StatusOK).has("set", "disabled", "kind")
	await.Until(t, "the set to be refused", func() bool { return set().Error != nil })
	if m := set().wantError(t, forbidden); !strings.Contains(m.Error.Message, "this endpoint "+disabledText) {
		t.Errorf("%s", m.raw)
	}
	if tools := newStateless(t, at).request("tools/list", nil).result()["tools"]; len(tools.([]any)) != 0 {
		t.Errorf("the set lists %v", tools)
	}
	if refuses(t, d.edges[1], d.ops[1], "add") {
		t.Error("a disabled set is refused at the root")
	}
	d.ops[0].post("/v1/catalog/disable", `{"name":"fixture","kind":"backend"}`).want(http.StatusOK)
	d.eventually(1, "add", true)
	c := newStateless(t, d.edges[1].URL)
	for method, params := range map[string]map[string]any{
		"prompts/get":    {"name": "greet", "arguments": map[string]string{"name": "Ada"}},
		"resources/read": {"uri": "test://note"},
	} {
		if m := c.request(method, params).final().wantError(t, forbidden); !strings.Contains(m.Error.Message, disabledText) {
			t.Errorf("%s: %s", method, m.raw)
		}
	}
	s := newSession(t, d.edges[1].URL, vNov)
	if m := s.request("resources/subscribe", `{"uri":"test://note"}`).final(); m.Error == nil || !strings.Contains(m.Error.Message, disabledText) {
		t.Errorf("a subscription: %s", m.raw)
	}
	for _, wrong := range []struct {
		path, body string
		status     int
	}{
		{"disable", `{"name":"fixtrue"}`, http.StatusNotFound},
		{"disable", `{"name":""}`, http.StatusBadRequest},
		{"disable", `{"name":"add","kind":"planet"}`, http.StatusBadRequest},
		{"disable", `{"name":"add","reason":"` + strings.Repeat("x", 1025) + `"}`, http.StatusBadRequest},
		{"enable", `{"name":"add"}`, http.StatusNotFound},
	} {
		r := d.ops[0].post("/v1/catalog/"+wrong.path, wrong.body).want(wrong.status)
		if strings.Contains(wrong.body, "fixtrue") && !strings.Contains(r.text, `; \"fixture\" may be meant`) {
			t.Errorf("no suggestion in %s", r.text)
		}
	}
	d.ops[1].post("/v1/catalog/enable", `{"name":"fixture","reason":"mended"}`).want(http.StatusOK).has("backend", "enabled", "kind")
	d.eventually(0, "add", false)
	first, second := strings.ReplaceAll(d.audit, "{replica}", "r0"), strings.ReplaceAll(d.audit, "{replica}", "r1")
	await.Until(t, "the records of the operator", func() bool {
		return len(recordsWith(t, first, "method", "admin/catalog/disable")) == 12 && len(recordsWith(t, second, "method", "admin/catalog/enable")) == 2
	})
	r := recordsWith(t, first, "method", "admin/catalog/disable")[0]
	if r["set"] != "s" || r["reason"] != "SECRET of the set" || r["subject"] != "admin" || r["by"] != "operator" || r["event"] != "decision" {
		t.Errorf("recorded: %v", r)
	}
	if r := recordsWith(t, second, "method", "admin/catalog/enable"); r[0]["backend"] != "fixture" || r[0]["reason"] != "mended" || r[1]["outcome"] != "ok" {
		t.Errorf("recorded: %v", r)
	}
	await.Until(t, "the records of the refusals", func() bool {
		return slices.ContainsFunc(recordsWith(t, second, "rule", "disabled"), func(r map[string]any) bool {
			return r["by"] == "operator" && r["decision"] == "deny" && r["target"] == "add" && r["backend"] == "fixture"
		})
	})
}

// TestDisabledBeforeItIsKnown: a replica that starts while its Redis is away serves nothing over REST either, until it has read what is
// disabled.
func TestDisabledBeforeItIsKnown(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	// It keeps what it has. On one that comes back empty a replica serves everything until another one has restored what is disabled.
	d := startDisablingOn(t, redisserver.ForTest(t, "--appendonly", "yes"))
	d.ops[0].post("/v1/catalog/disable", `{"name":"add"}`).want(http.StatusOK)
	d.eventually(1, "add", true)
	d.redis.Kill()
	late := harness.Begin(t, d.config(2))
	late.AwaitAdmin(t)
	o := newOperator(t, late)
	await.Until(t, "the backend to be listed", func() bool {
		n, _ := o.get("/v1/backends").want(http.StatusOK).at("backends", 0, "tools").(float64)
		return n > 0
	})
	for _, path := range []string{"/v1/tools", "/v1/tools/add", "/v1/prompts", "/v1/resources", "/v1/catalog/disabled"} {
		o.get(path).want(http.StatusServiceUnavailable)
	}
	for path, body := range map[string]string{
		"/v1/tools/add:call": `{"arguments":` + anAddition + `}`, "/v1/catalog/disable": `{"name":"fixture"}`, "/v1/catalog/enable": `{"name":"add"}`,
	} {
		o.post(path, body).want(http.StatusServiceUnavailable)
	}
	if err := d.redis.Restart(); err != nil {
		t.Fatal(err)
	}
	late.AwaitServing(t)
	if !refuses(t, late, o, "add") {
		t.Error("it serves what is disabled")
	}
}

// TestDisabledTasks: a task that asks is polled while its tool is disabled, its later round is refused, and no new one begins.
func TestDisabledTasks(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	backend, backends, _ := stepping(t)
	capability.AddTool(backend, "ask", "Asks", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		answer, err := capability.Ask[struct {
			Name string `json:"name"`
		}](c, "name", "Whose?")
		return answer.Name, err
	}, capability.Tasks(capability.TaskOptional))
	e := startEdge(t, backends)
	s, o := newSession(t, e.URL, vNov), newOperator(t, e)
	const params = `{"name":"ask","arguments":{},"task":{}}`
	id, _ := dig(s.request("tools/call", params).want(http.StatusOK).result(), "task", "taskId").(string)
	status := func() any { return o.get("/v1/tasks/"+id).want(http.StatusOK).at("task", "status") }
	await.Until(t, "the task to ask", func() bool { return status() == "input_required" })
	got := s.request("tasks/result", `{"taskId":"`+id+`"}`)
	o.post("/v1/catalog/disable", `{"name":"ask","kind":"tool"}`).want(http.StatusOK)
	if got := dig(s.request("tasks/get", `{"taskId":"`+id+`"}`).result(), "status"); got != "input_required" {
		t.Errorf("it is polled as %v", got)
	}
	if m := s.request("tools/call", params).final().wantError(t, forbidden); !strings.Contains(m.Error.Message, disabledText) {
		t.Errorf("a new one: %s", m.raw)
	}
	s.answer(got.events().awaitMethod("elicitation/create"), answers["elicitation/create"])
	await.Until(t, "the task to fail", func() bool { return status() == "failed" })
	if text, _ := o.get("/v1/tasks/"+id).at("task", "statusMessage").(string); !strings.Contains(text, disabledText) {
		t.Errorf("it failed because %q", text)
	}
}

// TestDisabledInMemory: without Redis it lasts as long as the process, over another catalog too.
func TestDisabledInMemory(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	a, b := harness.Serve(t, "a", adder("add")), harness.Serve(t, "b", adder("more"))
	both := "backends:\n" + backend("a", a, "") + backend("b", b, ", prefix: b_")
	e := govern(t, both)
	o := newOperator(t, e.Edge)
	o.post("/v1/catalog/disable", `{"name":"b_more"}`).want(http.StatusOK)
	if !refuses(t, e.Edge, o, "b_more") {
		t.Error("it is served")
	}
	e.change(both + "catalog: {tools: [{backend: b, tool: more, name: renamed}]}\n")
	if !refuses(t, e.Edge, o, "renamed") {
		t.Error("by another name it is served")
	}
	e.change("backends:\n" + backend("a", a, "") + backend("b", b, ", prefix: c_") + "catalog: {}\n")
	if !refuses(t, e.Edge, o, "c_more") {
		t.Error("with another prefix it is served")
	}
	e.change(both + "catalog: {tools: [{backend: b, tool: more, name: renamed}]}\n")
	o.post("/v1/catalog/enable", `{"name":"renamed"}`).want(http.StatusOK).has("b_more", "enabled", "name")
	if refuses(t, e.Edge, o, "renamed") {
		t.Error("it is refused")
	}
}
