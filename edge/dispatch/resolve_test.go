package dispatch

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// A request is resolved and decided once. The resolved object is called even if the lists have
// changed since. A later round is resolved again.
func TestARequestIsResolvedOnce(t *testing.T) {
	for i := range named {
		f := everything()
		c := control(t, policy.Settings{Default: policy.Deny, Rules: []policy.Rule{{Name: "readers", Then: policy.Allow, When: `principal.roles.exists(r, r == "reader")`}}})
		d := start(t, Options{Access: c.InForce}, f)
		if _, err := d.Call(t.Context(), rules(t, modern), about(t, i, "two", mcp.Principal{}), nil); err == nil {
			t.Errorf("%s: allowed to one without the role", named[i].params)
		}
		c.Policy().Denied(func(rule string, denied, _ int64) {
			if rule == policy.RuleDefault && denied != 1 {
				t.Errorf("%s: refused by %d decisions", named[i].params, denied)
			}
		})
		call := about(t, i, "two", mcp.Principal{Roles: []string{"reader"}})
		var err error
		if call.Target, err = d.Resolve(t.Context(), rules(t, modern), call); err != nil {
			t.Fatal(err)
		}
		if call.Target.Backend != "a" {
			t.Errorf("%s: resolved to %+v", named[i].params, call.Target)
		}
		f.change(func() { f.tools, f.resources, f.templates, f.prompts = nil, nil, nil, nil })
		await.Until(t, "the lists are empty", func() bool {
			v := d.catalog.Shared()
			return len(v.Tools.List.Entries)+len(v.Prompts.List.Entries)+len(v.Resources.List.Entries)+len(v.Resources.TemplateList.Entries) == 0
		})
		call.Principal.Roles = nil // Another decision would refuse it.
		if _, err := d.Call(t.Context(), rules(t, modern), call, nil); err != nil {
			t.Errorf("%s: %v", named[i].params, err)
		}
		if again, err := d.Resolve(t.Context(), rules(t, modern), about(t, i, "two", mcp.Principal{Roles: []string{"reader"}})); err == nil && named[i].method != mcp.MethodResourcesRead {
			t.Errorf("%s: what is gone is resolved to %+v", named[i].params, again)
		}
	}
}
