package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestApprovalSeenFromElsewhere: to read a task that waits at the endpoint of another set does not end its wait.
func TestApprovalSeenFromElsewhere(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who := newPayer(), newPeople(t)
	e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove, func(c *config.Config) {
		c.Sets = map[string]config.Set{"some": {Include: config.SetMembers{Backends: config.Names{"fixture"}}, AcceptRoot: true}}
	})
	id, w := askFor(t, e, v2026, who.ann, "pay")
	c := statelessAs(t, e, who.ann)
	c.capabilities = withTasks
	c.url += "/some"
	c.request("tasks/get", map[string]any{"taskId": id})
	decide(t, e, who.lee, id, ":grant").want(http.StatusOK)
	if got := w.end(e); got != "paid bob for ann, run 1" {
		t.Errorf("it ended with %q", got)
	}
}

// TestApprovalWithoutAPolicyServer: to read a task that waits while the policy server does not answer does not end its wait.
func TestApprovalWithoutAPolicyServer(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who, pdp := newPayer(), newPeople(t), authorizer.Serve(t)
	e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove, askedOf(pdp))
	id, w := askFor(t, e, v2026, who.ann, "pay")
	pdp.SetDecide(func(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		return nil, status.Error(codes.Unavailable, "away")
	})
	other := who.id.Token("ann", public, map[string]any{"roles": []string{"staff"}, "client_id": "assistant", "jti": "other"}) // answers are kept by token
	c := statelessAs(t, e, other)
	c.capabilities = withTasks
	c.request("tasks/get", map[string]any{"taskId": id})
	pdp.SetDecide(authorizer.Allow)
	decide(t, e, who.lee, id, ":grant").want(http.StatusOK)
	if got := w.end(e); got != "paid bob for ann, run 1" {
		t.Errorf("it ended with %q", got)
	}
}

// TestApprovalShowsLittle: of large arguments an approver sees an excerpt, without secrets and without characters that change how text is read,
// and the backend gets all of them.
func TestApprovalShowsLittle(t *testing.T) {
	p, who := newPayer(), newPeople(t)
	e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove, func(c *config.Config) {
		c.Redact = []config.Redaction{{Name: "cards", Pattern: "card", In: config.Names{"audit"}}}
	})
	to := "4111 1111 1111 1111 \u202ebob\u202c\u001b[2J" + strings.Repeat("x", 1<<20)
	raw, err := json.Marshal(map[string]string{"to": to})
	if err != nil {
		t.Fatal(err)
	}
	c := statelessAs(t, e, who.ann)
	c.capabilities = withTasksAndForms
	id, _ := c.call("pay", string(raw)).want(http.StatusOK).result()["taskId"].(string)
	var shown *reply
	await.Until(t, "the task to wait", func() bool { shown = decide(t, e, who.lee, id, ""); return shown.status == http.StatusOK })
	if len(shown.body) > 8<<10 || strings.Contains(string(shown.body), "1111") || strings.ContainsAny(string(shown.body), "\u202e\u202c\u001b") ||
		!strings.Contains(string(shown.body), "[REDACTED:cards]") || !strings.Contains(string(shown.body), "bytes not shown") {
		t.Errorf("it is shown as %.8000s", shown.body)
	}
	decide(t, e, who.lee, id, ":grant").want(http.StatusOK)
	var got map[string]any
	await.Until(t, "the task to end", func() bool {
		got = c.request("tasks/get", map[string]any{"taskId": id}).result()
		return got["status"] != "working"
	})
	if said, _ := dig(got, "result", "content", 0, "text").(string); said != "paid "+to+" for ann, run 1" {
		t.Errorf("it ended with %.300v", got)
	}
}
