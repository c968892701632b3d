package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// approvalSettings are those of a governed edge with these approvals.
func approvalSettings(who *people, s *harness.Service, approvals string) string {
	return fmt.Sprintf("listen: {public-url: %s}\nauth: {issuers: [{issuer: %q}]}\nadmin: {auth: {scope: 'mcp:operate', open: [probes, metrics]}}\nbackends:\n%s"+
		"policy:\n  default: deny\n  rules: [{name: staff, when: 'true', then: allow}]\n  approve: [%s]\n", public, who.id.URL, backend("fixture", s, ""), approvals)
}

// TestApprovalOfOtherSettings: what is granted holds for the settings of the approval that were in force when the call began to wait, and counts
// for nothing if others are in force when it runs.
func TestApprovalOfOtherSettings(t *testing.T) {
	t.Parallel() // it waits for most of its time
	const first = `{name: payments, when: 'tool.name == "pay"', message: 'Pay?', approvers: '"lead" in principal.roles'}`
	for name, c := range map[string]struct {
		approvals string
		again     bool   // the call waits again
		refused   int    // the status of a grant by lee after that, if it cannot be given
		want      string // how the task ends; empty if it waits
	}{
		"another message":  {`{name: payments, when: 'tool.name == "pay"', message: 'Pay it?', approvers: '"lead" in principal.roles'}`, true, 0, "paid bob for ann, run 1"},
		"another time":     {first[:len(first)-1] + ", expires: 2h}", true, 0, "paid bob for ann, run 1"},
		"other approvers":  {`{name: payments, when: 'tool.name == "pay"', message: 'Pay?', approvers: '"chief" in principal.roles'}`, true, http.StatusForbidden, ""},
		"another approval": {first + `, {name: more, when: 'true', message: 'Really?'}`, true, 0, "paid bob for ann, run 1"},
		"audit mode":       {first[:len(first)-1] + ", mode: audit}", false, 0, "paid bob for ann, run 1"},
		"no approval":      {"", false, 0, "paid bob for ann, run 1"},
	} {
		t.Run(name, func(t *testing.T) {
			p, who := newPayer(), newPeople(t)
			s := startService(t, p.Server)
			g := govern(t, approvalSettings(who, s, first))
			id, w := askFor(t, g.Edge, v2026, who.ann, "pay")
			before, seen := decide(t, g.Edge, who.lee, id, "").want(http.StatusOK), approvalOf(t, g.Edge, who.lee, id)
			g.change(approvalSettings(who, s, c.approvals))
			decide(t, g.Edge, who.lee, id, ":grant").want(http.StatusOK)
			if c.again {
				await.Until(t, "the task to wait again", func() bool {
					got := decide(t, g.Edge, who.lee, id, "")
					return got.status == http.StatusOK && string(got.body) != string(before.body)
				})
				if n := p.runs.Load(); n != 0 {
					t.Fatalf("%d runs", n)
				}
				for _, verb := range []string{":grant", ":refuse"} { // A decision on what waited before.
					if got := decideOn(t, g.Edge, who.lee, id, seen, verb); got.status != http.StatusBadRequest || !strings.Contains(string(got.body), "waits for another approval than the one that the decision names") {
						t.Errorf("%s of the first: %d %s", verb, got.status, got.body)
					}
				}
				if got := decide(t, g.Edge, who.lee, id, ":grant"); c.refused != 0 && got.status != c.refused || c.refused == 0 && got.status != http.StatusOK {
					t.Errorf("the second grant: %d %s", got.status, got.body)
				}
			}
			if c.want == "" {
				if got := w.get(g.Edge); got["status"] != "working" || p.runs.Load() != 0 {
					t.Errorf("the task is %v after %d runs", got, p.runs.Load())
				}
				return
			}
			if got := w.end(g.Edge); !strings.Contains(got, c.want) {
				t.Errorf("it ended with %q, want %q", got, c.want)
			}
		})
	}
}

// TestApprovalOfATeam: the approvals in a team's file apply to its own backends, by its name.
func TestApprovalOfATeam(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, other, who := newPayer(), newPayer(), newPeople(t)
	s, theirs := startService(t, p.Server), startService(t, other.Server)
	settings := fmt.Sprintf("listen: {public-url: %s}\nauth: {issuers: [{issuer: %q}]}\nadmin: {auth: {scope: 'mcp:operate', open: [probes, metrics]}}\nbackends:\n%s%s"+
		"include: [{name: pay-team, file: pay.yaml, owns: {backends: [fixture]}, may: [policy]}]\n",
		public, who.id.URL, backend("fixture", s, ""), backend("other", theirs, ", prefix: other_"))
	e := &teamsEdge{governed: &governed{t: t, file: filepath.Join(t.TempDir(), "edge.yaml"), generation: 1}}
	e.write(settings)
	e.put("pay.yaml", "policy: {approve: [{name: payments, when: 'tool.name.endsWith(\"pay\")', message: 'Pay?'}]}\n")
	cfg, err := config.Load("serve", []string{"--config", e.file}, func(string) (string, bool) { return "", false }, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	e.Edge = harness.Start(t, cfg)
	id, w := askFor(t, e.Edge, v2026, who.ann, "pay")
	if got := w.get(e.Edge)["statusMessage"]; got != `waits for the approval of another person: "pay-team/payments"` {
		t.Errorf("it %v", got)
	}
	decide(t, e.Edge, who.lee, id, ":grant").want(http.StatusOK)
	if got := w.end(e.Edge); got != "paid bob for ann, run 1" {
		t.Errorf("it ended with %q", got)
	}
	if got := statelessAs(t, e.Edge, who.ann).call("other_pay", `{"to":"bob"}`).text(); got != "paid bob for ann, run 1" {
		t.Errorf("a call of another team's backend: %q", got)
	}
}

// TestApprovalThenConfirmation: a call that needs both waits for the approver first, then for its user, and is charged to the quotas once.
func TestApprovalThenConfirmation(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who := newPayer(), newPeople(t)
	two := startPair(t, p.Server, withAuth(who.id), toApprove, func(c *config.Config) {
		c.Policy.Confirm = []config.PolicyConfirm{{Name: "sure", When: `tool.name == "pay"`, Message: "Sure?"}}
		c.Quotas = []config.Quota{quota("principal", 1)}
	})
	id, w := askFor(t, two.first, v2026, who.ann, "pay")
	c := statelessAs(t, two.first, who.ann)
	c.capabilities = withTasksAndForms
	answer := func(key string) {
		t.Helper()
		c.request("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{
			key: map[string]any{"action": "accept", "content": map[string]any{"confirm": true}},
		}}).want(http.StatusOK)
	}
	answer("mcpedge.confirm.1") // The user was not asked yet.
	decide(t, two.second, who.lee, id, ":grant").want(http.StatusOK)
	var got map[string]any
	await.Until(t, "the user to be asked", func() bool { got = w.get(two.second); return got["status"] != "working" })
	if dig(got, "inputRequests", "mcpedge.confirm.2") == nil || p.runs.Load() != 0 {
		t.Fatalf("the task is %v after %d runs", got, p.runs.Load())
	}
	decide(t, two.first, who.lee, id, ":grant").want(http.StatusBadRequest)
	answer("mcpedge.confirm.2")
	await.Until(t, "the task to end", func() bool {
		got = w.get(two.second)
		return got["status"] != "working" && got["status"] != "input_required"
	})
	if text := dig(got, "result", "content", 0, "text"); text != "paid bob for ann, run 1" || p.runs.Load() != 1 {
		t.Errorf("the task is %v after %d runs", got, p.runs.Load())
	}
	two.first.End(t)
	two.second.End(t)
	audits := fileText(t, two.audits[0]) + fileText(t, two.audits[1])
	for _, want := range []string{`"confirmed":[{"name":"sure","how":"answered"}]`, `"approved":[{"name":"payments","by":{"issuer":"` + who.id.URL + `","subject":"lee"`} {
		if strings.Count(audits, want) != 1 {
			t.Errorf("the audits have %s %d times", want, strings.Count(audits, want))
		}
	}
}
