package policy

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// without returns rules without those in audit mode.
func without(rules []Rule) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Mode == Audit })
}

// enforced returns rules with one of them in force.
func enforced(rules []Rule, i int) []Rule {
	rules = slices.Clone(rules)
	rules[i].Mode = Enforce
	return rules
}

// A confirmation in audit mode is none, and a trial where it would be one.
func TestConfirmationsInAuditMode(t *testing.T) {
	p := confirmed(t, Confirm{Name: "large", When: "arguments.amount > 100", Message: "m", Mode: Audit})
	tool := Target{Kind: Tool, Name: "pay", Backend: "b"}
	for amount, want := range map[int64]string{1: "[]", 101: "[{confirm confirmation large}]"} {
		args := given(map[string]any{"amount": amount})
		d, err := p.Decide(&mcp.Principal{}, &tool, args)
		if got := fmt.Sprint(p.Trials(&mcp.Principal{}, &tool, args, &d)); err != nil || p.Obliges() || d.Effect != Allow || got != want {
			t.Errorf("%d: %s, %v, %+v", amount, got, err, d)
		}
	}
	for _, s := range []Settings{{Default: Allow, Rules: []Rule{{Name: "r", When: "true", Then: Deny, Mode: "x"}}}, {Confirm: []Confirm{{Name: "c", When: "true", Message: "m", Mode: "x"}}}} {
		if _, err := Compile(s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}
