package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestApprovalOnceOfTwo: of two grants at once, at two replicas, one runs the call.
func TestApprovalOnceOfTwo(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who := newPayer(), newPeople(t)
	two := startPair(t, p.Server, withAuth(who.id), toApprove)
	for i := range 10 {
		id, w := askFor(t, two.first, v2026, who.ann, "pay")
		approval := approvalOf(t, two.first, who.lee, id)
		var all sync.WaitGroup
		var granted atomic.Int64
		for _, e := range []*harness.Edge{two.first, two.second, two.first, two.second} {
			all.Go(func() {
				if decideOn(t, e, who.lee, id, approval, ":grant").status == http.StatusOK {
					granted.Add(1)
				}
			})
		}
		all.Wait()
		if got, want := w.end(two.second), fmt.Sprintf("paid bob for ann, run %d", i+1); got != want || granted.Load() != 1 {
			t.Fatalf("%q after %d grants, want %q", got, granted.Load(), want)
		}
	}
}

// TestApprovalOutlivesReplicas: the replica at which a call waits may be lost; one that is lost after it was granted the call has run it, or not.
func TestApprovalOutlivesReplicas(t *testing.T) {
	t.Parallel() // it waits for most of its time
	t.Run("while it waits", func(t *testing.T) {
		p, who := newPayer(), newPeople(t)
		two := startPair(t, p.Server, withAuth(who.id), toApprove)
		id, w := askFor(t, two.first, v2026, who.ann, "pay")
		two.lose()
		decide(t, two.second, who.lee, id, ":grant").want(http.StatusOK)
		if got := w.end(two.second); got != "paid bob for ann, run 1" {
			t.Errorf("it ended with %q", got)
		}
		two.back()
	})
	t.Run("after the grant", func(t *testing.T) { // Even a tool that may be repeated runs once for a grant.
		p, who := newPayer(), newPeople(t)
		p.holds = make(chan struct{})
		two := startPair(t, p.Server, withAuth(who.id), toApprove)
		id, w := askFor(t, two.second, v2026, who.ann, "pay_again")
		decide(t, two.first, who.lee, id, ":grant").want(http.StatusOK)
		await.Receive(t, "the run", p.began)
		two.lose()
		if got := w.end(two.second); !strings.Contains(got, "check before you send it again") {
			t.Errorf("it ended with %q", got)
		}
		close(p.holds)
		two.back()
		if n := p.runs.Load(); n != 1 {
			t.Errorf("%d runs", n)
		}
	})
}

// TestApprovalExpiresWithoutItsReplica: a client that waits for the result alone learns that it was not decided, also if the replica that asked is
// lost.
func TestApprovalExpiresWithoutItsReplica(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who := newPayer(), newPeople(t)
	two := startPair(t, p.Server, withAuth(who.id), toApprove, func(c *config.Config) { c.Policy.Approve[0].Expires = 2 * time.Second })
	_, w := askFor(t, two.first, vNov, who.ann, "pay")
	two.lose()
	if got := w.end(two.second); !strings.Contains(got, "it was not decided on in time") || p.runs.Load() != 0 {
		t.Errorf("it ended with %q after %d runs", got, p.runs.Load())
	}
	two.back()
}

// TestApprovalOnceWhateverElse: of a grant and a refusal, a cancellation or another reader at once, at two replicas, at most one decides, and the
// call runs at most once, and not without the grant.
func TestApprovalOnceWhateverElse(t *testing.T) {
	t.Parallel() // it waits for most of its time
	p, who := newPayer(), newPeople(t)
	two := startPair(t, p.Server, withAuth(who.id), toApprove)
	for name, also := range map[string]func(id, approval string) (decided bool){
		"refused": func(id, approval string) bool {
			return decideOn(t, two.second, who.lee, id, approval, ":refuse").status == http.StatusOK
		},
		"cancelled": func(id, _ string) bool {
			c := statelessAs(t, two.second, who.ann)
			c.capabilities = withTasks
			c.request("tasks/cancel", map[string]any{"taskId": id}).want(http.StatusOK)
			return false
		},
		"revoked": func(id, _ string) bool {
			c := statelessAs(t, two.second, who.id.Token("ann", public, map[string]any{"client_id": "assistant"}))
			c.capabilities = withTasks
			c.request("tasks/get", map[string]any{"taskId": id})
			return false
		},
	} {
		for range 8 {
			id, w := askFor(t, two.first, v2026, who.ann, "pay")
			approval, before := approvalOf(t, two.first, who.lee, id), p.runs.Load()
			var all sync.WaitGroup
			var granted, decided atomic.Bool
			all.Go(func() { granted.Store(decideOn(t, two.first, who.lee, id, approval, ":grant").status == http.StatusOK) })
			all.Go(func() { decided.Store(also(id, approval)) })
			all.Wait()
			got := w.end(two.second)
			ran := p.runs.Load() - before
			if granted.Load() && decided.Load() || ran > 1 || ran == 1 && !granted.Load() {
				t.Fatalf("%s: %q after %d runs; granted: %t", name, got, ran, granted.Load())
			}
		}
	}
}
