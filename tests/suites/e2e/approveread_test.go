package e2e

import (
	"context"
	"net/http"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
)

// TestApprovalSeenFromElsewhere: to read a task that waits at the endpoint of another set does not end its wait.
func TestApprovalSeenFromElsewhere(t *testing.T) {
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
	p, who, pdp := newPayer(), newPeople(t), authorizer.Serve(t)
	e := startEdge(t, only(startService(t, p.Server)), withAuth(who.id), toApprove, askedOf(pdp))
	id, w := askFor(t, e, v2026, who.ann, "pay")
	pdp.By(func(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		return nil, status.Error(codes.Unavailable, "away")
	})
	other := who.id.Token("ann", public, map[string]any{"roles": []string{"staff"}, "client_id": "assistant", "jti": "other"}) // answers are kept by token
	c := statelessAs(t, e, other)
	c.capabilities = withTasks
	c.request("tasks/get", map[string]any{"taskId": id})
	pdp.By(authorizer.Allow)
	decide(t, e, who.lee, id, ":grant").want(http.StatusOK)
	if got := w.end(e); got != "paid bob for ann, run 1" {
		t.Errorf("it ended with %q", got)
	}
}
