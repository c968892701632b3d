package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
)

// TestApprovalsAreNotOperators: whatever the spelling of the path, operators neither decide on approvals nor list them, and approvers do
// nothing else.
func TestApprovalsAreNotOperators(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who := newPayer(), newPeople(t)
	e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove)
	id, w := askFor(t, e, v2026, who.ann, "pay")
	decision, operator := `{"approval":"`+approvalOf(t, e, who.lee, id)+`"}`, who.approver("olivia", map[string]any{"scope": "mcp:operate"})
	for _, path := range []string{
		"/v1/approvals%2F" + id + ":grant", "/v1/approvals%2f" + id + ":grant", "/v1/%61pprovals/" + id + ":grant", "/v1/approvals/" + id + "%3Agrant",
		"/v1%2Fapprovals%2F" + id + ":grant", "/v1//approvals/" + id + ":grant", "/v1/./approvals/" + id + ":grant", "/v1/approvals%2F" + id + ":refuse",
	} {
		if got := newCaller(t, "http://"+e.Admin+path).send(t, http.MethodPost, decision, "Authorization", "Bearer "+operator); got.status < 400 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/v1/approvals%2F" + id, "/v1/%61pprovals"} {
		got := newCaller(t, "http://"+e.Admin+path).send(t, http.MethodGet, "", "Accept", "", "Authorization", "Bearer "+operator)
		if got.status < 400 || strings.Contains(string(got.body), "bob") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/v1/approvals/..%2Fstatus", "/v1/approvals%2F..%2Fstatus", "/v1/approvals/../status"} {
		got := newCaller(t, "http://"+e.Admin+path).send(t, http.MethodGet, "", "Accept", "", "Authorization", "Bearer "+who.lee)
		if got.status < 400 && !strings.HasPrefix(http.StatusText(got.status), "Moved") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := w.get(e); got["status"] != "working" || p.runs.Load() != 0 {
		t.Errorf("the task is %v after %d runs", got, p.runs.Load())
	}
}

// TestApprovalDependsOnArguments: a tool that may need an approval can be called as a task, whatever its arguments are.
func TestApprovalDependsOnArguments(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who := newPayer(), newPeople(t)
	e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove, func(c *config.Config) {
		c.Policy.Approve[0].When = `tool.name == "pay" && arguments.to != "bob"`
	})
	s := sessionAs(t, e, vNov, who.ann)
	if got := dig(s.request("tools/list", "").result(), "tools", 0, "execution", "taskSupport"); got != "optional" {
		t.Fatalf("the tool is listed with taskSupport %v", got)
	}
	id, _ := dig(s.request("tools/call", `{"name":"pay","arguments":{"to":"bob"},"task":{}}`).want(http.StatusOK).result(), "task", "taskId").(string)
	var got map[string]any
	await.Until(t, "the task to end", func() bool {
		got = s.request("tasks/get", `{"taskId":"`+id+`"}`).result()
		return got["status"] != "working"
	})
	if m := s.request("tasks/result", `{"taskId":"`+id+`"}`).final(); m.Error != nil || text(t, m.result(t)) != "paid bob for ann, run 1" {
		t.Errorf("it ended as %v, %v", got, m)
	}
	if got := s.call("pay", `{"to":"bob"}`).text(); got != "paid bob for ann, run 2" {
		t.Errorf("a plain call: %q", got)
	}
}

// TestApprovalOfHookedArguments: approvals are for the arguments that a hook has the backend get, also if those that the client sent need none.
func TestApprovalOfHookedArguments(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, version := range []string{vNov, v2026} {
		t.Run(version, func(t *testing.T) {
			p, who, s := newPayer(), newPeople(t), hookserver.Serve(t)
			s.SetRequest(hookserver.Arguments(`{"to":"eve"}`))
			e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove, hookedBy(s), func(c *config.Config) {
				c.Policy.Approve[0].When = `tool.name == "pay" && arguments.to != "bob"`
			})
			id, w := askFor(t, e, version, who.ann, "pay")
			if shown := decide(t, e, who.lee, id, "").want(http.StatusOK); !strings.Contains(string(shown.body), `Pay \"eve\"?`) {
				t.Errorf("it is shown as %s", shown.body)
			}
			s.SetRequest(hookserver.Arguments(`{"to":"mallory"}`)) // What was granted does not hold for other arguments.
			decide(t, e, who.lee, id, ":grant").want(http.StatusOK)
			await.Until(t, "the task to wait again", func() bool {
				got := decide(t, e, who.lee, id, "")
				return got.status == http.StatusOK && strings.Contains(string(got.body), "mallory")
			})
			if n := p.runs.Load(); n != 0 {
				t.Fatalf("%d runs", n)
			}
			decide(t, e, who.lee, id, ":grant").want(http.StatusOK)
			if got := w.end(e); got != "paid mallory for ann, run 1" {
				t.Errorf("it ended with %q", got)
			}
		})
	}
}
