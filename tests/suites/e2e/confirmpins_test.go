package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

type ofTenant struct {
	Path   string `json:"path"`
	Tenant string `json:"tenant"`
}

// pinned renames the tools wipe and job, and pins their tenant, which callers do not see.
func pinned(c *config.Config) {
	c.Catalog = &config.Catalog{}
	for tool, name := range map[string]string{"wipe": "erase", "job": "work"} {
		c.Catalog.Tools = append(c.Catalog.Tools, config.CatalogTool{
			Backend: c.Backends[0].Name, Tool: tool, Name: name, Arguments: map[string]config.CatalogArgument{"tenant": {From: "principal.claims.tenant"}},
		})
	}
	c.Policy = &config.Policy{Confirm: []config.PolicyConfirm{{Name: "all", When: "true", Message: "Go?"}}}
}

// TestConfirmShowsWhatTheClientSent: the question has the name and the arguments that the client sent, however the call comes, and
// it is asked once.
func TestConfirmShowsWhatTheClientSent(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, kind := range []string{"memory", "Redis"} {
		t.Run(kind, func(t *testing.T) {
			id, s := issuer.Serve(t), capability.New("tenants", "1")
			run := func(_ context.Context, _ *capability.Call, in ofTenant) (string, error) {
				return "wiped " + in.Tenant, nil
			}
			capability.AddTool(s, "wipe", "Wipes", run)
			capability.AddTool(s, "job", "Wipes", run, capability.Tasks(capability.TaskOptional))
			adjust := []func(*config.Config){withAuth(id), pinned, searchAtRoot}
			if kind == "Redis" {
				server := redisserver.ForTest(t)
				adjust = append(adjust, func(c *config.Config) { c.Redis.URL = server.URL() })
			}
			e := startEdge(t, only(startService(t, s)), adjust...)
			showsWhatWasSent(t, e, id.Token("ann", public, map[string]any{"tenant": "SECRET"}))
		})
	}
}

func showsWhatWasSent(t *testing.T, e *harness.Edge, token string) {
	shows := func(way, name string, params any) {
		t.Helper()
		want := fmt.Sprintf("The tool %q of the backend \"fixture\" is about to be called.\n\nGo?\n\nArguments: {\"path\":\"a\"}", name)
		if got := fmt.Sprint(dig(params.(map[string]any), "message")); got != want {
			t.Errorf("%s: asked %q, want %q", way, got, want)
		}
	}
	s := sessionAs(t, e, vNov, token)
	for way, call := range map[string]string{
		"session": `{"name":"erase","arguments":{"path":"a"}}`, "through call_tool": `{"name":"call_tool","arguments":{"name":"erase","arguments":{"path":"a"}}}`,
	} {
		stream := s.request("tools/call", call).want(http.StatusOK).events()
		q := stream.awaitMethod("elicitation/create")
		shows(way, "erase", object(t, q.Params))
		s.answer(q, sayYes)
		if m := stream.message(); m.Method != "" || !strings.Contains(string(m.Result), "wiped SECRET") {
			t.Errorf("%s: %s %s %s", way, m.Method, m.Params, m.Result)
		}
	}
	c := newStateless(t, e.URL, `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	c.as(token)
	for _, name := range []string{"erase", "work"} { // The second one may become a task.
		asked := c.call(name, `{"path":"a"}`).result()
		shows("stateless", name, dig(asked, "inputRequests", "mcpedge.confirm", "params"))
		if got := c.call(name, `{"path":"a"}`, retry(t, asked, confirming(sayYes))).text(); got != "wiped SECRET" {
			t.Errorf("%s: %q", name, got)
		}
	}
	id, _ := dig(s.request("tools/call", `{"name":"work","arguments":{"path":"a"},"task":{}}`).want(http.StatusOK).result(), "task", "taskId").(string)
	await.Until(t, "the task asks", func() bool {
		return s.request("tasks/get", `{"taskId":"`+id+`"}`).result()["status"] == "input_required"
	})
	stream := s.request("tasks/result", `{"taskId":"`+id+`"}`).want(http.StatusOK).events()
	q := stream.awaitMethod("elicitation/create")
	shows("task", "work", object(t, q.Params))
	s.answer(q, sayYes)
	if m := stream.message(); m.Method != "" || !strings.Contains(string(m.Result), "wiped SECRET") {
		t.Errorf("task: %s %s %s", m.Method, m.Params, m.Result)
	}
}

// TestConfirmReplaysAreCharged: each request is charged but the one that an answer runs, so that a used state is not free.
func TestConfirmReplaysAreCharged(t *testing.T) {
	w := newWiper()
	e := startEdge(t, only(startService(t, w.Server)), toConfirm, func(c *config.Config) {
		c.Quotas = []config.Quota{quota("tool", 2, "wipe")}
	})
	c := newStateless(t, e.URL)
	yes := retry(t, c.call("wipe", `{"path":"a"}`).result(), confirming(sayYes))
	for i, want := range []int{0, -31520, -31429, -31429} {
		if m := c.call("wipe", `{"path":"a"}`, yes).json(); (m.Error == nil) != (want == 0) || m.Error != nil && m.Error.Code != want {
			t.Errorf("%d: %+v, want %d", i, m.Error, want)
		}
	}
	w.ran(t, 1)
}

// TestConfirmOfABackendThatIsAway: what a client is told to do again does not use a confirmation that was used.
func TestConfirmOfABackendThatIsAway(t *testing.T) {
	w := newWiper()
	service := startService(t, w.Server)
	e := startEdge(t, only(service), toConfirm)
	c := newStateless(t, e.URL)
	yes := retry(t, c.call("wipe", `{"path":"a"}`).result(), confirming(sayYes))
	service.Stop()
	if r := c.call("wipe", `{"path":"a"}`, yes); !strings.Contains(string(r.body), "call again without requestState") {
		t.Errorf("%s", r.body)
	}
	w.ran(t, 0)
}
