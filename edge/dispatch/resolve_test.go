package dispatch

import (
	"context"
	"testing"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// counting counts the decisions on requests.
type counting struct {
	Decider
	decided int
}

func (c *counting) Decide(ctx context.Context, rules *revision.Rules, call *mcp.Call, t *policy.Target, args policy.Arguments) (access.Permit, error) {
	c.decided++
	return c.Decider.Decide(ctx, rules, call, t, args)
}

// A request is resolved and decided once. The resolved object is called even if the lists have
// changed since. A later round is resolved again.
func TestARequestIsResolvedOnce(t *testing.T) {
	for i := range named {
		f := everything()
		c := &counting{Decider: decider(t, policy.Settings{Default: policy.Allow})()}
		d := start(t, Options{Access: func() Decider { return c }}, f)
		call := about(t, i, "two", mcp.Principal{})
		var err error
		if call.Target, err = d.Resolve(t.Context(), rules(t, modern), call); err != nil {
			t.Fatal(err)
		}
		if call.Target.Backend != "a" {
			t.Errorf("%s: resolved to %+v", named[i].params, call.Target)
		}
		if c.decided != 1 {
			t.Errorf("%s: resolved by %d decisions", named[i].params, c.decided)
		}
		f.change(func() { f.tools, f.resources, f.templates, f.prompts = nil, nil, nil, nil })
		await.Until(t, "the lists are empty", func() bool {
			v := d.catalog.Shared()
			return len(v.Tools.List.Entries)+len(v.Prompts.List.Entries)+len(v.Resources.List.Entries)+len(v.Resources.TemplateList.Entries) == 0
		})
		if _, err := d.Call(t.Context(), rules(t, modern), call, nil); err != nil {
			t.Errorf("%s: %v", named[i].params, err)
		}
		if c.decided != 1 {
			t.Errorf("%s: called by %d decisions", named[i].params, c.decided)
		}
		if again, err := d.Resolve(t.Context(), rules(t, modern), about(t, i, "two", mcp.Principal{})); err == nil && named[i].method != mcp.MethodResourcesRead {
			t.Errorf("%s: what is gone is resolved to %+v", named[i].params, again)
		}
	}
}
