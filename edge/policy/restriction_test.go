package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// A decision names the rule of a restriction with its owner, and it is counted.
func TestRestrictionIsNamed(t *testing.T) {
	p, err := Compile(Settings{Restrictions: []Restriction{{Owner: "crm", Backends: []string{"crm"}, Rules: []Rule{
		{Name: "small", When: `arguments.n > 3`, Then: Deny}, {Name: "eu", When: `principal.claims.region != "eu"`, Then: Hide},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	eu := &mcp.Principal{Subject: "s", Claims: claimed(map[string]any{"region": "eu"})}
	target := &Target{Kind: Tool, Name: "find", Backend: "crm"}
	if d, err := p.Decide(eu, target, given(map[string]any{"n": 4})); err != nil || d.Effect != Deny || d.Rule != "crm/small" {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := p.Decide(eu, target, given(map[string]any{"n": 3})); err != nil || d.Effect != Allow || d.Rule != RuleDefault {
		t.Errorf("%+v, %v", d, err)
	}
	if d, _ := p.Explain(eu, target, nil); !d.Open || d.Rule != "crm/small" || !p.Listed(eu, target) {
		t.Errorf("without arguments: %+v", d)
	}
	us := &mcp.Principal{Subject: "s", Claims: claimed(map[string]any{"region": "us"})}
	if d, _ := p.Decide(us, target, given(map[string]any{"n": 1})); d.Effect != Hide || d.Rule != "crm/eu" || p.Listed(us, target) {
		t.Errorf("another region: %+v", d)
	}
	counts := map[string]int64{}
	p.Denied(func(rule string, denied, _ int64) { counts[rule] = denied })
	if counts["crm/small"] != 1 || counts["crm/eu"] != 1 || counts[RuleScopes] != 0 || counts[RuleDefault] != 0 || len(counts) != 4 {
		t.Errorf("the counts are %v", counts)
	}
	if names, _ := p.Claims(); !slices.Equal(names, []string{"region"}) || !p.Filters() {
		t.Errorf("it inspects %q", names)
	}
}

// A restriction cannot allow, and its rules have names of their own.
func TestRestrictionsAreChecked(t *testing.T) {
	for want, r := range map[string]Restriction{
		"rules[0] x: then: \"allow\"": {Rules: []Rule{{Name: "x", When: "true", Then: Allow}}},
		"rules[0]: name: \"\"":        {Rules: []Rule{{When: "true", Then: Deny}}},
		"rules[1]: name: \"x\"":       {Rules: []Rule{{Name: "x", When: "true", Then: Deny}, {Name: "x", When: "true", Then: Deny}}},
		"rules[0] x: when":            {Rules: []Rule{{Name: "x", When: "nonsense", Then: Deny}}},
		"scopes[0]: a pattern":        {Scopes: []Scopes{{Tools: []string{""}}}},
		"scopes[0]: need":             {Scopes: []Scopes{{Need: []string{"a b"}}}},
	} {
		r.Owner = "crm"
		if err := r.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := Compile(Settings{Restrictions: []Restriction{r}}); err == nil || !strings.Contains(err.Error(), "restrictions of crm: "+want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	rule := []Rule{{Name: "a", When: "true", Then: Deny}}
	taken := Settings{Default: Allow, Rules: []Rule{{Name: "crm/a", When: "true", Then: Allow}}, Restrictions: []Restriction{{Owner: "crm", Rules: rule}}}
	if _, err := Compile(taken); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q is that of another rule", "crm/a")) {
		t.Errorf("a name that is taken: %v", err)
	}
}
