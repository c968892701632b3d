package e2e

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/command/client"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// approvals runs mcpedge approvals with a token; an empty one sends none.
func approvals(t *testing.T, e *harness.Edge, token string, args ...string) (string, error) {
	t.Helper()
	args = append(args, "http://"+e.Admin)
	if token != "" {
		args = append(args, "--token-file", authority.File(t, filepath.Join(t.TempDir(), "token"), []byte(token)))
	}
	var out strings.Builder
	err := client.Approvals(t.Context(), args, &out, io.Discard)
	return out.String(), err
}

// TestApprovalsCommand: an approver finds, sees, grants and refuses calls with mcpedge approvals, and others are told why they cannot.
func TestApprovalsCommand(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who := newPayer(), newPeople(t)
	e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove)
	id, w := askFor(t, e, v2026, who.ann, "pay")
	other, refused := askFor(t, e, v2026, who.ann, "pay_again")
	id += "." + approvalOf(t, e, who.lee, id)
	other += "." + approvalOf(t, e, who.lee, other)
	out, err := approvals(t, e, who.lee, "list")
	if err != nil || strings.Count(out, "\n") != 3 || !strings.Contains(out, "\n"+id+"\t") || !strings.Contains(out, "\n"+other+"\t") || !strings.Contains(out, "\tann\tpay\tfixture\t\tpayments\n") {
		t.Errorf("list: %q, %v", out, err)
	}
	out, err = approvals(t, e, who.lee, "show", id)
	if err != nil || !strings.Contains(out, "requester:  ann of "+who.id.URL+"\n") || !strings.HasSuffix(out, "Pay \"bob\"?\n\nArguments: {\"to\":\"bob\"}\n") {
		t.Errorf("show: %q, %v", out, err)
	}
	for _, c := range []struct{ name, token, id, want string }{
		{"no credentials", "", id, "401 Unauthorized"},
		{"what to give", "", id, "; give --token-file FILE with a token that an issuer gave to you as a user, with the scope of approvers (mcp:approve"},
		{"no scope", who.approver("lee", map[string]any{"scope": "mcp:operate"}), id, "403 Forbidden: this needs the scope mcp:approve, which the credentials do not have"},
		{"the requester", who.approver("ann"), id, "403 Forbidden: the call is your own, whichever client sent it: another person must approve it"},
		{"no approver", who.approver("bob", map[string]any{"roles": []string{"staff"}}), id, "403 Forbidden: by the policy, you are not an approver of this call"},
		{"another approval", who.lee, id[:strings.Index(id, ".")] + ".0a", "400 Bad Request: the call waits for another approval than the one that the decision names"},
		{"unknown", who.lee, "nothing.0a", "404 Not Found: no call with this id waits for an approval, or it has expired: GET /v1/approvals lists those that wait"},
	} {
		if out, err := approvals(t, e, c.token, "grant", c.id); err == nil || out != "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v; want %s", c.name, out, err, c.want)
		}
	}
	if out, err := approvals(t, e, who.lee, "grant", id); err != nil || !strings.HasPrefix(out, "granted: the call of the tool pay of the backend fixture by ann ") {
		t.Errorf("grant: %q, %v", out, err)
	}
	if got := w.end(e); got != "paid bob for ann, run 1" {
		t.Errorf("it ended with %q", got)
	}
	if _, err := approvals(t, e, who.lee, "grant", id); err == nil || !strings.Contains(err.Error(), "it was decided on, has ended, or does not wait yet; GET /v1/approvals lists those that wait") {
		t.Errorf("again: %v", err)
	}
	if out, err := approvals(t, e, who.lee, "refuse", other, "--reason", "not now"); err != nil || out != "refused: the call of the tool pay_again of the backend fixture by ann does not run\n" {
		t.Errorf("refuse: %q, %v", out, err)
	}
	if got := refused.end(e); !strings.Contains(got, `another person refused it: "not now"`) {
		t.Errorf("it ended with %q", got)
	}
	if out, err := approvals(t, e, who.lee, "list"); err != nil || out != "no call waits for an approval\n" {
		t.Errorf("list: %q, %v", out, err)
	}
}
