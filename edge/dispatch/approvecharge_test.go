package dispatch

import (
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/quota"
)

// A confirmed call that is refused because it needs an approval, too, is charged to the quotas each time: its confirmation was not used.
func TestRefusalsOfUnapprovedCallsAreCharged(t *testing.T) {
	g := newGuards(t)
	settings := guarded("One?")
	state := g.ask(g.with(settings), rules(t, modern))
	settings.Approve = []policy.Approve{{Name: "later", When: "true", Message: "Go?"}}
	p, err := policy.Compile(settings)
	if err != nil {
		t.Fatal(err)
	}
	const most = 2
	limit := quota.New(quota.Options{Rules: []quota.Rule{{Name: "few", Per: quota.PerTool, Budget: quota.Budget{Interval: time.Hour, Burst: most}}}})
	d := start(t, Options{Access: by(access.New(access.Options{Policy: p, Quotas: limit})), Confirmations: g.store}, g.f)
	for i := range most + 1 {
		_, err := g.call(d, rules(t, modern), 2, state, yes()...)
		if want := map[bool]mcp.Kind{true: mcp.KindForbidden, false: mcp.KindLimit}[i < most]; err == nil || mcp.AsError(err).Kind != want {
			t.Errorf("call %d: %v, want an error of the kind %v", i+1, err, want)
		}
	}
	g.ran(0)
}
