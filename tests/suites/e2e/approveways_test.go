package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// TestApprovalsAreNotOperators: whatever the spelling of the path, operators neither decide on approvals nor list them, and approvers do
// nothing else.
func TestApprovalsAreNotOperators(t *testing.T) {
	p, who := newPayer(), newPeople(t)
	e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove)
	id, w := askFor(t, e, v2026, who.ann, "pay")
	operator := who.approver("olivia", map[string]any{"scope": "mcp:operate"})
	for _, path := range []string{
		"/v1/approvals%2F" + id + ":grant", "/v1/approvals%2f" + id + ":grant", "/v1/%61pprovals/" + id + ":grant", "/v1/approvals/" + id + "%3Agrant",
		"/v1%2Fapprovals%2F" + id + ":grant", "/v1//approvals/" + id + ":grant", "/v1/./approvals/" + id + ":grant", "/v1/approvals%2F" + id + ":refuse",
	} {
		if got := newCaller(t, "http://"+e.Admin+path).send(t, http.MethodPost, "{}", "Authorization", "Bearer "+operator); got.status < 400 {
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
