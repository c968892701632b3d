package access

import (
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// A call of a session is charged once, even if it is begun several times. Without sessions each
// request is charged.
func TestWhatCounts(t *testing.T) {
	for _, x := range []struct {
		version  string
		admitted int
	}{{"2025-11-25", 3}, {"2026-07-28", 1}} {
		rules, ok := revision.ByVersion(x.version)
		if !ok {
			t.Fatalf("revision %s is not known", x.version)
		}
		c := New(Options{Quotas: quota.New(quota.Options{Rules: []quota.Rule{{Name: "r", Per: quota.PerTool, Budget: quota.Budget{Interval: time.Hour, Burst: 1}}}})})
		admitted := 0
		for i := range 3 {
			call := &mcp.Call{Method: mcp.MethodToolsCall, Round: 1, Attempt: 1 + i/2, Begun: i > 0}
			call.Params.Target = "t"
			permit, err := c.InForce().Decide(t.Context(), rules, call, &tool, none)
			if err == nil {
				err = permit.Charge(t.Context(), call)
			}
			if err == nil {
				admitted++
				continue
			}
			if me := mcp.AsError(err); me.Kind != mcp.KindLimit || me.RetryAfter < 59*time.Minute {
				t.Errorf("%s: a call beyond its quota is %v, to be sent again after %s", x.version, err, me.RetryAfter)
			}
		}
		if admitted != x.admitted {
			t.Errorf("%s: %d of a call's three beginnings were admitted with a quota of one, want %d", x.version, admitted, x.admitted)
		}
	}
}
