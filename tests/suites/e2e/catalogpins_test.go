package e2e

import (
	"context"
	"encoding/base64"
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

// tenants is a backend that says which tenant each call has: at once, after a question, and as a
// task.
func tenants() *capability.Server {
	s := capability.New("tenants", "1.0.0")
	type in struct {
		Query  string `json:"query,omitempty"`
		Tenant string `json:"tenant"`
	}
	capability.AddTool(s, "find", "Finds", func(_ context.Context, _ *capability.Call, in in) (string, error) { return "find of " + in.Tenant, nil })
	capability.AddTool(s, "ask", "Asks", func(_ context.Context, c *capability.Call, in in) (string, error) {
		who, err := capability.Ask[person](c, "name", "Who?")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("ask of %s by %s", in.Tenant, who.Name), nil
	})
	capability.AddTool(s, "work", "Works", func(_ context.Context, _ *capability.Call, in in) (string, error) { return "work of " + in.Tenant, nil }, capability.Tasks(capability.TaskOptional))
	return s
}

func pinTenant(c *config.Config) {
	pin := map[string]config.CatalogArgument{"tenant": {From: "principal.claims.tenant"}}
	c.Catalog = &config.Catalog{Tools: []config.CatalogTool{{Backend: c.Backends[0].Name, Tool: "*", Arguments: pin}}}
}

// TestPinnedTenant: in both eras, over questions, tasks and two replicas, the backend gets the
// tenant of the caller's token, or is not called.
func TestPinnedTenant(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, server := issuer.Serve(t), redisserver.ForTest(t)
	backends := only(startService(t, tenants()))
	start := func() *harness.Edge {
		return startEdge(t, backends, withAuth(id), pinTenant, func(c *config.Config) {
			c.Redis.URL, c.Redis.SealKeys = server.URL(), []string{base64.StdEncoding.EncodeToString(make([]byte, 32))}
		})
	}
	one, two := start(), start()
	acme, other := id.Token("alice", public, map[string]any{"tenant": "acme"}), id.Token("alice", public, map[string]any{"tenant": "other"})
	none := id.Token("alice", public)
	answer := answers["elicitation/create"]
	for _, version := range []string{vNov, v2026} {
		as := func(token string) asker {
			if version == vNov {
				return sessionAs(t, one, vNov, token)
			}
			return statelessAs(t, one, token)
		}
		for token, want := range map[string]string{acme: "find of acme", other: "find of other"} {
			if got := text(t, as(token).ask("tools/call", toolParams("find", `{"query":"x"}`, "")).want(http.StatusOK).result()); got != want {
				t.Errorf("%s: %q, want %q", version, got, want)
			}
		}
		if got := string(as(none).ask("tools/call", toolParams("find", `{}`, "")).body); !strings.Contains(got, "-31403") || strings.Contains(got, "tenant") {
			t.Errorf("%s: without the claim: %s", version, got)
		}
		for _, arguments := range []string{`{"tenant":"other"}`, `{"Tenant":"other"}`, `{"tenant":null}`, `{"\\u0074enant":"other"}`} {
			arguments = strings.ReplaceAll(arguments, `\\`, `\`)
			if got := string(as(acme).ask("tools/call", toolParams("find", arguments, "")).body); !strings.Contains(got, "not accepted") {
				t.Errorf("%s: %s: %s", version, arguments, got)
			}
		}
		if got := string(as(acme).ask("tools/list", `{}`).body); strings.Contains(got, "tenant") && !strings.Contains(got, "tenants") {
			t.Errorf("%s: the list is %s", version, got)
		}
	}
	// A question that one replica asks is answered at the other.
	s := sessionAs(t, one, vNov, acme)
	asked := s.call("ask", `{}`).events()
	s.seenBy(two, acme).answer(asked.awaitMethod("elicitation/create"), answer)
	if got := text(t, asked.message().result(t)); got != "ask of acme by Ada" {
		t.Errorf("after the answer: %q", got)
	}
	// The answer comes with a token of the same user for another tenant.
	asked = s.call("ask", `{}`).events()
	s.seenBy(two, other).answer(asked.awaitMethod("elicitation/create"), answer)
	if m := asked.message(); strings.Contains(string(m.Result), " of ") || m.Error == nil {
		t.Errorf("with the claim of another tenant: %s", m.raw)
	}
	again := retry(t, statelessAs(t, one, acme).call("ask", `{}`).result(), `{"name":`+answer+`}`)
	if got := text(t, statelessAs(t, two, acme).call("ask", `{}`, again).want(http.StatusOK).result()); got != "ask of acme by Ada" {
		t.Errorf("without a session: %q", got)
	}
	if got := string(statelessAs(t, two, other).call("ask", `{}`, again).body); strings.Contains(got, " of ") {
		t.Errorf("without a session, with the claim of another tenant: %s", got)
	}
	for _, tenant := range []string{"acme", "other"} {
		if got := string(s.request("tools/call", `{"name":"work","arguments":{"tenant":"`+tenant+`"},"task":{}}`).body); !strings.Contains(got, "-32602") {
			t.Errorf("a task with the pinned argument: %s", got)
		}
	}
	made := s.request("tools/call", `{"name":"work","arguments":{},"task":{}}`).want(http.StatusOK)
	task, _ := dig(made.result(), "task", "taskId").(string)
	await.Until(t, "the task to complete", func() bool {
		return dig(s.seenBy(two, acme).request("tasks/get", `{"taskId":"`+task+`"}`).want(http.StatusOK).result(), "status") == "completed"
	})
	if got := text(t, s.seenBy(two, acme).request("tasks/result", `{"taskId":"`+task+`"}`).want(http.StatusOK).result()); got != "work of acme" {
		t.Errorf("the task: %q", got)
	}
}

// TestImpossiblePinIsAProblem: a pin of an argument that a tool does not have hides the tool, also
// when the settings are read again. The admin address and the metrics say so, until it is repaired.
func TestImpossiblePinIsAProblem(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel()
	service := harness.Serve(t, "tenants", tenants())
	settings := func(pin string) string {
		return "backends:\n" + backend("tenants", service, "") + "catalog: {tools: [{backend: tenants, tool: find, arguments: {" + pin + ": {value: acme}}}]}\n"
	}
	e := govern(t, settings("tenant"))
	problems := func(n float64) (all []any) {
		t.Helper()
		body := object(t, newCaller(t, "http://"+e.Admin+"/v1/backends").send(t, http.MethodGet, "").want(http.StatusOK).body)
		all, _ = body["backends"].([]any)[0].(map[string]any)["problems"].([]any)
		if float64(len(all)) != n {
			t.Errorf("the problems are %q, want %v", all, n)
		}
		awaitMetric(t, e.Edge, `mcpedge_backend_problems{mcpedge_backend_name="tenants"}`, n)
		return all
	}
	problems(0)
	e.change(settings("Tenant"))
	const want = `the tool "find" is hidden, because the catalog's changes of its arguments are impossible: `
	if got := problems(1); !strings.HasPrefix(fmt.Sprint(got...), want) {
		t.Errorf("the problem is %q, want %s", got, want)
	}
	e.change(settings("tenant"))
	problems(0)
}
