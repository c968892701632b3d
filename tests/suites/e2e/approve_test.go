package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// toApprove requires an approval of calls of pay, by leads of the department of the call.
func toApprove(c *config.Config) {
	c.Admin.Auth = &config.AdminAuth{Scope: "mcp:operate"}
	c.Policy = &config.Policy{
		Default: "deny",
		Rules:   []config.PolicyRule{{Name: "staff", When: `"staff" in principal.roles || "lead" in principal.roles`, Then: "allow"}},
		Approve: []config.PolicyApprove{{
			Name: "payments", When: `tool.name.startsWith("pay")`, Message: "Pay {arguments.to}?", Approvers: `"lead" in principal.roles`,
		}},
	}
}

// payer is a backend that counts its payments and says who made them.
type payer struct {
	*capability.Server
	runs atomic.Int64
	// holds has the tool wait until it is closed; nil does not.
	holds chan struct{}
	began chan struct{}
}

type payment struct {
	To string `json:"to"`
}

func newPayer() *payer {
	p := &payer{Server: capability.New("payer", "1.0.0"), began: make(chan struct{}, 64)}
	run := func(ctx context.Context, c *capability.Call, in payment) (string, error) {
		n := p.runs.Add(1)
		p.began <- struct{}{}
		if p.holds != nil {
			select {
			case <-p.holds:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return fmt.Sprintf("paid %s for %s, run %d", in.To, c.Principal().GetSubject(), n), nil
	}
	capability.AddTool(p.Server, "pay", "Pays", run)
	capability.AddTool(p.Server, "pay_again", "Pays, which may be repeated", run, capability.Idempotent())
	capability.AddTool(p.Server, "look", "Looks", run)
	return p
}

// people have tokens: ann requests, lee approves.
type people struct {
	id       *issuer.Issuer
	ann, lee string
}

func newPeople(t *testing.T) *people {
	id := issuer.Serve(t)
	p := &people{id: id}
	p.ann = id.Token("ann", public, map[string]any{"roles": []string{"staff"}, "client_id": "assistant"})
	p.lee = p.approver("lee")
	return p
}

// approver returns the token of a lead with the scope of approvers.
func (p *people) approver(subject string, changes ...map[string]any) string {
	first := map[string]any{"roles": []string{"lead"}, "scope": "mcp:approve", "client_id": "console"}
	return p.id.Token(subject, public, append([]map[string]any{first}, changes...)...)
}

// decide posts a decision on what waits, or with an empty verb gets that.
func decide(t *testing.T, e *harness.Edge, token, task, verb string) *reply {
	t.Helper()
	if verb == "" {
		return newCaller(t, "http://"+e.Admin+"/v1/approvals/"+task).send(t, http.MethodGet, "", "Accept", "", "Authorization", "Bearer "+token)
	}
	return decideOn(t, e, token, task, approvalOf(t, e, token, task), verb)
}

// decideOn posts a decision on an approval.
func decideOn(t *testing.T, e *harness.Edge, token, task, approval, verb string) *reply {
	t.Helper()
	return newCaller(t, "http://"+e.Admin+"/v1/approvals/"+task+verb).send(t, http.MethodPost, `{"approval":"`+approval+`"}`, "Authorization", "Bearer "+token)
}

// approvalOf returns the id of the approval that a task waits for: "none" if it does not wait, or the token may not see it.
func approvalOf(t *testing.T, e *harness.Edge, token, task string) string {
	t.Helper()
	var shown struct{ Approval struct{ Approval string } }
	got := decide(t, e, token, task, "")
	if err := json.Unmarshal(got.body, &shown); err != nil && got.status == http.StatusOK {
		t.Errorf("%s: %v", got.body, err)
	}
	return cmp.Or(shown.Approval.Approval, "none")
}

// withTasksAndForms are capabilities of a client of 2026-07-28 that has tasks and whose user can be asked.
const withTasksAndForms = `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// waiter is a client whose task waits.
type waiter struct {
	get func(e *harness.Edge) map[string]any
	// end returns the text of the result, or the error.
	end func(e *harness.Edge) string
}

// askFor begins a call as a task, in either era, and returns the task once it waits for the approval.
func askFor(t *testing.T, e *harness.Edge, version, token, tool string) (id string, w waiter) {
	t.Helper()
	arguments := `{"to":"bob"}`
	if version == v2026 {
		c := statelessAs(t, e, token)
		c.capabilities = withTasksAndForms
		id, _ = c.call(tool, arguments).want(http.StatusOK).result()["taskId"].(string)
		at := map[*harness.Edge]*stateless{}
		w.get = func(e *harness.Edge) map[string]any {
			if at[e] == nil {
				at[e] = statelessAs(t, e, token)
				at[e].capabilities = withTasksAndForms
			}
			return at[e].request("tasks/get", map[string]any{"taskId": id}).result()
		}
	} else {
		s := sessionAs(t, e, version, token)
		id, _ = dig(s.request("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`,"task":{}}`).want(http.StatusOK).result(), "task", "taskId").(string)
		w.get = func(e *harness.Edge) map[string]any {
			return s.seenBy(e, token).request("tasks/get", `{"taskId":"`+id+`"}`).result()
		}
		w.end = func(e *harness.Edge) string {
			m := s.seenBy(e, token).request("tasks/result", `{"taskId":"`+id+`"}`).final()
			if m.Error != nil {
				return m.Error.Message
			}
			return text(t, m.result(t))
		}
	}
	if id == "" {
		t.Fatal("there is no task")
	}
	if version == v2026 {
		w.end = func(e *harness.Edge) string {
			var got map[string]any
			await.Until(t, "the task to end", func() bool { got = w.get(e); return got["status"] != "working" })
			if message, ok := dig(got, "error", "message").(string); ok {
				return message
			}
			said, _ := dig(got, "result", "content", 0, "text").(string)
			return said
		}
	}
	await.Until(t, "the task to wait for its approval", func() bool {
		said, _ := w.get(e)["statusMessage"].(string)
		return strings.Contains(said, "waits for the approval of another person")
	})
	return id, w
}

// TestApproval: a call waits for another person, in both eras, and runs as its requester once one has granted it on another replica.
func TestApproval(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, version := range []string{vNov, v2026} {
		t.Run(version, func(t *testing.T) {
			p, who := newPayer(), newPeople(t)
			two := startPair(t, p.Server, withAuth(who.id), toApprove)
			id, w := askFor(t, two.first, version, who.ann, "pay")
			if got := w.get(two.second); got["status"] != "working" || got["statusMessage"] != `waits for the approval of another person: "payments"` {
				t.Errorf("the task is %v", got)
			}
			shown := decide(t, two.second, who.lee, id, "").want(http.StatusOK)
			var one struct {
				Approval struct {
					Tool, Backend, Message string
					Names                  []string
					Requester              struct{ Subject string }
				}
			}
			if err := json.Unmarshal(shown.body, &one); err != nil {
				t.Fatal(err)
			}
			want := "The tool \"pay\" of the backend \"fixture\" is about to be called.\n\nPay \"bob\"?\n\nArguments: {\"to\":\"bob\"}"
			if a := one.Approval; a.Message != want || a.Tool != "pay" || a.Backend != "fixture" || a.Requester.Subject != "ann" || len(a.Names) != 1 {
				t.Errorf("it is shown as %s", shown.body)
			}
			list := newCaller(t, "http://"+two.second.Admin+"/v1/approvals").send(t, http.MethodGet, "", "Accept", "", "Authorization", "Bearer "+who.lee)
			if !strings.Contains(string(list.want(http.StatusOK).body), id) {
				t.Errorf("listed: %s", list.body)
			}
			if n := p.runs.Load(); n != 0 {
				t.Fatalf("%d calls ran unapproved", n)
			}
			decide(t, two.second, who.lee, id, ":grant").want(http.StatusOK)
			if got := w.end(two.first); got != "paid bob for ann, run 1" {
				t.Errorf("it ended with %q", got)
			}
			decide(t, two.first, who.lee, id, ":grant").want(http.StatusBadRequest)
			two.first.End(t)
			two.second.End(t)
			if n := p.runs.Load(); n != 1 {
				t.Errorf("%d runs", n)
			}
			for _, want := range []string{
				`"decision":"wait","by":"approval","rule":"payments"`,
				`"approved":[{"name":"payments","by":{"issuer":"` + who.id.URL + `","subject":"lee","client_id":"console"}}]`,
				`"subject":"lee","client_id":"console"`, `"method":"admin/approvals/grant"`,
			} {
				if !strings.Contains(fileText(t, two.audits[0])+fileText(t, two.audits[1]), want) {
					t.Errorf("the audits lack %s", want)
				}
			}
		})
	}
}

// TestApprovalNeedsATask: a call that cannot wait is refused with what to do, and a call that needs no approval is as before.
func TestApprovalNeedsATask(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who := newPayer(), newPeople(t)
	e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove)
	c := statelessAs(t, e, who.ann)
	if m := c.call("pay", `{"to":"bob"}`).want(http.StatusBadRequest).json().wantError(t, -32021); !strings.Contains(m.Error.Message, `"payments"`) || !strings.Contains(string(m.Error.Data), "io.modelcontextprotocol/tasks") {
		t.Errorf("%s %s", m.Error.Message, m.Error.Data)
	}
	for version, how := range map[string]string{vNov: `send "task":{} in the params`, "2025-06-18": "protocol version 2025-11-25 and later"} {
		s := sessionAs(t, e, version, who.ann)
		if m := s.call("pay", `{"to":"bob"}`).json().wantError(t, -31403); !strings.Contains(m.Error.Message, how) || !strings.Contains(m.Error.Message, `"payments"`) {
			t.Errorf("%s: %s", version, m.Error.Message)
		}
	}
	list := sessionAs(t, e, vNov, who.ann).request("tools/list", "").result()
	for i, want := range map[int]any{0: "required", 1: "required", 2: nil} {
		if got := dig(list, "tools", i, "execution", "taskSupport"); got != want {
			t.Errorf("the tool %v is listed with taskSupport %v, want %v", dig(list, "tools", i, "name"), got, want)
		}
	}
	if got := c.request("server/discover", nil).result(); dig(got, "capabilities", "extensions", "io.modelcontextprotocol/tasks") == nil {
		t.Errorf("the extension of tasks is not declared: %v", got)
	}
	operator := who.id.Token("ann", public, map[string]any{"roles": []string{"staff"}, "scope": "mcp:operate"})
	rest := newCaller(t, "http://"+e.Admin+"/v1/tools/pay:call").send(t, http.MethodPost, `{"arguments":{"to":"bob"}}`, "Authorization", "Bearer "+operator)
	if rest.status < 400 || !strings.Contains(string(rest.body), "payments") {
		t.Errorf("over REST: %d %s", rest.status, rest.body)
	}
	if n := p.runs.Load(); n != 0 {
		t.Errorf("%d runs", n)
	}
	if got := c.call("look", `{"to":"bob"}`).text(); got != "paid bob for ann, run 1" {
		t.Errorf("a call without an approval: %q", got)
	}
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
