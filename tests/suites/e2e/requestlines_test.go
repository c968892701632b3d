package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// TestRequestLines: the line of each request that names something says by whom, what and where, also where no backend has it.
func TestRequestLines(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	e := startEdge(t, only(startService(t, newFixture().Server)), withAuth(id))
	for _, version := range []string{vNov, v2026} {
		c := clientOf(t, e, version, id.Token("alice", public))
		for _, one := range []struct{ method, params, target, backend string }{
			{"tools/call", `{"name":"echo","arguments":{"text":"x"}}`, "echo", "fixture"},
			{"tools/call", `{"name":"nothing"}`, "nothing", ""},
			{"prompts/get", `{"name":"greet","arguments":{"name":"x"}}`, "greet", "fixture"},
			{"resources/read", `{"uri":"test://note"}`, "test://note", "fixture"},
			{"resources/read", `{"uri":"test://item/7"}`, "test://item/7", "fixture"},
			{"resources/read", `{"uri":"none://x"}`, "none://x", ""},
			{"completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"a"}}`, "greet", "fixture"},
			{"tools/list", `{}`, "", ""},
		} {
			before := len(e.Log.String())
			c.ask(one.method, one.params).final()
			var line string
			await.Until(t, one.method+" to be logged", func() bool {
				for l := range strings.Lines(e.Log.String()[before:]) {
					if strings.Contains(l, "msg=request method="+one.method+" ") {
						line = l
						return true
					}
				}
				return false
			})
			for key, value := range map[string]string{" target=": one.target, " backend=": one.backend} {
				if value != "" && !strings.Contains(line, key+value+" ") || value == "" && strings.Contains(line, key) {
					t.Errorf("%s %s: %q is not as wanted (%q) in %s", version, one.method, key, value, line)
				}
			}
			if !strings.Contains(line, " subject=alice address=127.0.0.1 ") {
				t.Errorf("%s %s: no subject or address in %s", version, one.method, line)
			}
		}
	}
}

// TestLinesOfRefusals: the line of what a rule or a quota refuses names that, and the call as the audit does.
func TestLinesOfRefusals(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, path := issuer.Serve(t), filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, newFixture().Server)), withAuth(id), auditTo(path), func(c *config.Config) {
		c.Policy = &config.Policy{Default: "allow", Rules: []config.PolicyRule{
			{Name: "no echo", Then: "deny", When: `tool.name == "echo"`},
			{Name: "secret", Then: "hide", When: `tool.name == "big"`},
			{Name: "careless", Then: "deny", When: `tool.name == "rich" && arguments.nam == "bob"`},
		}}
		c.Quotas = []config.Quota{quota("tool", 1, "add")}
	})
	for _, version := range []string{vNov, v2026} {
		c := clientOf(t, e, version, id.Token("alice", public))
		for _, one := range []struct{ params, outcome, reason string }{
			{`{"name":"echo","arguments":{"text":"x"}}`, "forbidden", "no echo"},
			{`{"name":"add","arguments":{"a":1,"b":2}}`, "limit", "tool add"},
			{`{"name":"big","arguments":{}}`, "unknown_tool", `reason="hidden by policy rule \"secret\""`},
			{`{"name":"rich","arguments":{}}`, "forbidden", `reason="policy rule \"careless\" could not be evaluated, which denies"`},
		} {
			c.ask("tools/call", one.params)
			if one.outcome == "limit" {
				c.ask("tools/call", one.params) // the first may be within it
			}
			await.Until(t, "the refusal to be logged", func() bool {
				for l := range strings.Lines(e.Log.String()) {
					if strings.Contains(l, "version="+version+" ") && strings.Contains(l, " outcome="+one.outcome+" ") && strings.Contains(l, one.reason) && strings.Contains(l, " call=") {
						return true
					}
				}
				return false
			})
		}
	}
	e.End(t)
	for _, r := range records(t, path) {
		if r.Event == "outcome" && !strings.Contains(e.Log.String(), " call="+r.Call+" ") {
			t.Errorf("no line has the call of %+v", r)
		}
		if r.Event == "outcome" && r.Address != "127.0.0.1" {
			t.Errorf("no address in %+v", r)
		}
	}
}

// TestLinesOfTasks: a task has a line when it has ended, with a print of its id, which no line has whole.
func TestLinesOfTasks(t *testing.T) {
	_, backends, steps := stepping(t)
	e := startEdge(t, backends)
	c := modernTasker(t, e.URL)
	task := c.begin("steps", `{}`)
	close(steps)
	await.Until(t, "the task to end", func() bool { return c.get(task)["status"] == "completed" })
	want := ` level=INFO msg="task ended" method=tools/call target=steps task=` + telemetry.SessionPrint(task) + " outcome=ok duration="
	await.Until(t, "the end to be logged", func() bool { return strings.Contains(e.Log.String(), want) })
	e.End(t)
	if strings.Contains(e.Log.String(), task) {
		t.Errorf("the log has the id of the task %s", task)
	}
}
