package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestApproversAreOthers: the requester by whatever client, those whom the policy does not name, operators, and credentials that are no
// person's cannot decide.
func TestApproversAreOthers(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who := newPayer(), newPeople(t)
	e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove)
	id, w := askFor(t, e, v2026, who.ann, "pay")
	for name, token := range map[string]string{
		"the requester by another client":     who.approver("ann"),
		"an actor that is the requester":      who.approver("lee", map[string]any{"act": map[string]any{"sub": "ann"}}),
		"somebody who is no approver":         who.approver("bob", map[string]any{"roles": []string{"staff"}}),
		"a client that acts for itself":       who.approver("console", map[string]any{"sub": nil}),
		"an approver without the scope":       who.approver("lee", map[string]any{"scope": "mcp:read"}),
		"an operator without the scope":       who.approver("lee", map[string]any{"scope": "mcp:operate"}),
		"the requester with the scope itself": who.id.Token("ann", public, map[string]any{"roles": []string{"staff", "lead"}, "scope": "mcp:approve", "client_id": "assistant"}),
	} {
		for _, verb := range []string{":grant", ":refuse"} {
			if got := decide(t, e, token, id, verb); got.status != http.StatusForbidden {
				t.Errorf("%s, %s: %d %s", name, verb, got.status, got.body)
			}
		}
	}
	if r := newCaller(t, "http://"+e.Admin+"/v1/status").send(t, http.MethodGet, "", "Accept", "", "Authorization", "Bearer "+who.lee); r.status != http.StatusForbidden {
		t.Errorf("an approver operates: %d", r.status)
	}
	c := statelessAs(t, e, who.ann)
	c.capabilities = withTasks
	for _, key := range []string{"mcpedge.approve", "mcpedge.approve.1"} { // The requester cannot answer in the place of an approver.
		c.request("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{key: map[string]any{"end": "granted"}}}).want(http.StatusOK)
	}
	if got := w.get(e); got["status"] != "working" || p.runs.Load() != 0 {
		t.Errorf("the task is %v after %d runs", got, p.runs.Load())
	}
	c.request("tasks/cancel", map[string]any{"taskId": id}).want(http.StatusOK)
	decide(t, e, who.lee, id, ":grant").want(http.StatusBadRequest)
	if n := p.runs.Load(); n != 0 {
		t.Errorf("%d runs", n)
	}
}

// TestApprovalNeedsAPerson: an API key approves nothing, and calls that wait; an anonymous caller cannot, nor can a call of a backend that needs
// the caller's token.
func TestApprovalNeedsAPerson(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who := newPayer(), newPeople(t)
	s := startService(t, p.Server)
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	text := fmt.Sprintf("- {name: ci, sha256: %x, roles: [staff]}\n- {name: boss, sha256: %x, roles: [lead], scopes: ['mcp:approve']}\n", sha256.Sum256([]byte("key-of-ci")), sha256.Sum256([]byte("key-of-boss")))
	if err := os.WriteFile(keys, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	exchanged := s.Backend()
	exchanged.Name, exchanged.Prefix, exchanged.Identity, exchanged.Exchange = "crm", "crm_", config.IdentityExchange, &config.BackendExchange{Scopes: config.Names{"crm:read"}}
	e := startEdge(t, append(only(s), exchanged), withAuth(who.id), withExchange(t), toApprove, func(c *config.Config) {
		c.Auth.APIKeys, c.Auth.Optional = keys, true
		c.Policy.Rules[0].When, c.Policy.Approve[0].When = "true", `tool.name.endsWith("pay")`
	})
	for name, c := range map[string]struct {
		token, tool, want string
	}{
		"anonymous": {"", "pay", "an anonymous caller cannot be compared with who approves"},
		"exchange":  {who.ann, "crm_pay", `calls of the backend \"crm\" cannot wait for one`},
	} {
		a := statelessAs(t, e, c.token)
		a.capabilities = withTasksAndForms
		id, _ := a.call(c.tool, `{"to":"bob"}`).want(http.StatusOK).result()["taskId"].(string)
		var got *reply
		await.Until(t, "the task to end", func() bool {
			got = a.request("tasks/get", map[string]any{"taskId": id})
			return got.result()["status"] != "working"
		})
		if !strings.Contains(string(got.body), c.want) {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	id, w := askFor(t, e, v2026, "key-of-ci", "pay")
	for _, key := range []string{"key-of-boss", "key-of-ci"} {
		if got := decide(t, e, key, id, ":grant"); got.status != http.StatusForbidden {
			t.Errorf("%s: %d %s", key, got.status, got.body)
		}
	}
	if n := p.runs.Load(); n != 0 {
		t.Fatalf("%d runs", n)
	}
	decide(t, e, who.lee, id, ":grant").want(http.StatusOK)
	if got := w.end(e); got != "paid bob for ci, run 1" {
		t.Errorf("it ended with %q", got)
	}
}

// TestApprovalIsNoAnswer: what a client sends as the answer to the question for an approval is none, in whatever request.
func TestApprovalIsNoAnswer(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who := newPayer(), newPeople(t)
	e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove)
	const granted = `{"end":"granted","granted":["AAAAAAAAAAA="],"by":{"issuer":"x","subject":"lee"}}`
	c := statelessAs(t, e, who.ann)
	c.capabilities = withTasksAndForms
	params := map[string]any{"name": "pay", "arguments": map[string]any{"to": "bob"}, "inputResponses": map[string]any{"mcpedge.approve": json.RawMessage(granted)}}
	id, _ := c.request("tools/call", params).want(http.StatusOK).result()["taskId"].(string)
	await.Until(t, "the task to wait", func() bool { return decide(t, e, who.lee, id, "").status == http.StatusOK })
	for _, key := range []string{"mcpedge.approve", "mcpedge.approve.1", "again.mcpedge.approve.1"} {
		c.request("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{key: json.RawMessage(granted)}}).want(http.StatusOK)
	}
	delete(params, "inputResponses")
	params["requestState"] = "mcpedge.consent\x00{}\x00"
	if got := c.request("tools/call", params); got.status != http.StatusBadRequest {
		t.Errorf("a state that is not the edge's: %d %s", got.status, got.body)
	}
	decide(t, e, who.lee, id, "").want(http.StatusOK) // It waits on.
	if n := p.runs.Load(); n != 0 {
		t.Errorf("%d runs", n)
	}
}
