package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestApprovalIsNotGiven: a refusal, the end of the time, and the end of the requester's credentials or rights end the task without a run.
func TestApprovalIsNotGiven(t *testing.T) {
	t.Parallel() // it waits for most of its time
	who := newPeople(t)
	for name, c := range map[string]struct {
		adjust func(*config.Config)
		then   func(t *testing.T, e *harness.Edge, id string, w waiter)
		token  string
		want   string
	}{
		"refused": {then: func(t *testing.T, e *harness.Edge, id string, _ waiter) {
			c := newCaller(t, "http://"+e.Admin+"/v1/approvals/"+id+":refuse")
			body := `{"approval":"` + approvalOf(t, e, who.lee, id) + `","reason":"too\u001bmuch"}`
			c.send(t, http.MethodPost, `{"reason":"too\u001bmuch"}`, "Authorization", "Bearer "+who.lee).want(http.StatusBadRequest) // It names no approval.
			c.send(t, http.MethodPost, body, "Authorization", "Bearer "+who.lee).want(http.StatusOK)
		}, want: `another person refused it: "too\u001bmuch"`},
		"expired": {
			adjust: func(c *config.Config) { c.Policy.Approve[0].Expires = 2 * time.Second },
			want:   "it was not decided on in time",
		},
		"another token lacks the role": {then: func(t *testing.T, e *harness.Edge, id string, _ waiter) {
			c := statelessAs(t, e, who.id.Token("ann", public, map[string]any{"client_id": "assistant"}))
			c.capabilities = withTasks
			c.request("tasks/get", map[string]any{"taskId": id}).want(http.StatusOK)
			if got := decide(t, e, who.lee, id, ":grant"); got.status != http.StatusBadRequest {
				t.Errorf("granted: %d %s", got.status, got.body)
			}
		}, want: "the policy no longer allows it to the caller"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPayer()
			adjust := []func(*config.Config){withAuth(who.id), toApprove}
			if c.adjust != nil {
				adjust = append(adjust, c.adjust)
			}
			e := startEdge(t, only(startService(t, p.Server)), adjust...)
			id, w := askFor(t, e, v2026, who.ann, "pay")
			if c.then != nil {
				c.then(t, e, id, w)
			}
			if got := w.end(e); !strings.Contains(got, c.want) {
				t.Errorf("it ended with %q, want %q", got, c.want)
			}
			if n := p.runs.Load(); n != 0 {
				t.Errorf("%d runs", n)
			}
		})
	}
}

// TestApprovalAfterTheToken: a grant after the requester's token has expired runs nothing, unless the requester has read the task with a newer
// one with the same rights.
func TestApprovalAfterTheToken(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for name, renewed := range map[string]bool{"expired": false, "renewed": true} {
		t.Run(name, func(t *testing.T) {
			p, who := newPayer(), newPeople(t)
			two := startPair(t, p.Server, withAuth(who.id), toApprove, func(c *config.Config) {
				none := time.Duration(0)
				c.Auth.Issuers[0].Skew = &none
			})
			began := time.Now()
			askFor(t, two.first, v2026, who.ann, "pay")
			// The token outlives what is done with it, however slow the machine is.
			end := time.Now().Add(longEnough(6*time.Second, time.Since(began)))
			short := who.id.Token("ann", public, map[string]any{"roles": []string{"staff"}, "client_id": "assistant", "exp": end.Unix()})
			id, _ := askFor(t, two.first, v2026, short, "pay")
			at := map[*harness.Edge]*stateless{}
			for _, e := range []*harness.Edge{two.first, two.second} {
				at[e] = statelessAs(t, e, who.ann)
				at[e].capabilities = withTasks
			}
			read := func(e *harness.Edge) map[string]any {
				return at[e].request("tasks/get", map[string]any{"taskId": id}).result()
			}
			if renewed {
				read(two.second)
			}
			await.Until(t, "the token to expire", func() bool { return time.Now().After(end) })
			decide(t, two.second, who.lee, id, ":grant").want(http.StatusOK)
			var got map[string]any
			await.Until(t, "the task to end", func() bool { got = read(two.first); return got["status"] != "working" })
			message := fmt.Sprint(dig(got, "error", "message"))
			if expired := strings.Contains(message, "the credentials with which it was made expired"); expired == renewed || p.runs.Load() == 1 != renewed {
				t.Errorf("it ended as %v after %d runs", got, p.runs.Load())
			}
		})
	}
}
