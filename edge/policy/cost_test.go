package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// owned is a policy with rules of the owner of the backend crm.
func owned(t *testing.T, when ...string) *Policy {
	t.Helper()
	r := Restriction{Owner: "team", Backends: []string{"crm"}}
	for i, text := range when {
		r.Rules = append(r.Rules, Rule{Name: fmt.Sprint("r", i), When: text, Then: Deny})
		r.Places = append(r.Places, fmt.Sprintf("crm.yaml:%d", 3+i))
	}
	p, err := Compile(Settings{Default: Allow, Restrictions: []Restriction{r}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// scoped is a caller with n scopes.
func scoped(n int) *mcp.Principal {
	who := &mcp.Principal{Subject: "alice", Issuer: "i"}
	for i := range n {
		who.Scopes = append(who.Scopes, fmt.Sprintf("scope:%d", i))
	}
	return who
}

// A condition of an owner that is costly for one caller refuses that caller the owner's backend, says where it
// is, and is not evaluated for others.
func TestCostOfOwnedConditions(t *testing.T) {
	const one = `principal.scopes.exists(s, s.startsWith("scope:x"))`
	for name, c := range map[string]struct {
		p      *Policy
		place  string
		scopes int
	}{
		"one rule":    {owned(t, `tool.name == "x"`, one), "crm.yaml:4", 5000},
		"all of them": {owned(t, one, one, one, one), "crm.yaml:6", 1100},
	} {
		t.Run(name, func(t *testing.T) {
			tool := &Target{Kind: Tool, Method: mcp.MethodToolsCall, Name: "crm_find", Backend: "crm"}
			few, many := scoped(10), scoped(c.scopes)
			if d, err := c.p.Decide(few, tool, nil); err != nil || d.Effect != Allow || !c.p.Listed(few, tool) {
				t.Errorf("a usual caller: %+v, %v", d, err)
			}
			d, err := c.p.Decide(many, tool, nil)
			if err != nil || d.Effect != Deny || !errors.Is(d.Err, errCost) || !strings.HasPrefix(d.Err.Error(), c.place+": ") || c.p.Listed(many, tool) {
				t.Errorf("a costly caller: %+v, %v, want %s", d, err, c.place)
			}
			other := *tool
			other.Backend = "pay"
			if d, err := c.p.Decide(many, &other, nil); err != nil || d.Effect != Allow || !c.p.Listed(many, &other) {
				t.Errorf("another backend: %+v, %v", d, err)
			}
		})
	}
}

// Conditions whose estimated cost is too great are refused.
func TestEstimatedCosts(t *testing.T) {
	for text, most := range map[string]uint64{
		`tool.name == "x"`: 10,
		`tool.name.startsWith("crm_") && !("export" in principal.roles)`: 200,
		`principal.claims.groups.exists(g, g == "sales")`:                2000,
		`principal.scopes.exists(s, s.matches("^crm:(read|write)$"))`:    MaxRuleCost,
		`arguments.filters.all(f, f.field in ["a", "b", "c"])`:           MaxRuleCost,
	} {
		cost, err := EstimatedCost(text)
		if err != nil || cost == 0 || cost > most {
			t.Errorf("%s costs %d, %v, want at most %d", text, cost, err, most)
		}
	}
	const nested = `principal.scopes.exists(a, principal.scopes.exists(b, principal.scopes.exists(c, a == b && b == c)))`
	r := Restriction{Owner: "team", Backends: []string{"crm"}, Rules: []Rule{{Name: "x", When: nested, Then: Deny}}}
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "rules[0] x: when: its estimated cost is") {
		t.Errorf("a nested loop: %v", err)
	}
	if _, err := CompileOwnedCondition(nested); err == nil || !strings.Contains(err.Error(), "its estimated cost is") {
		t.Errorf("a nested loop of a set: %v", err)
	}
	if _, err := Compile(Settings{Default: Allow, Rules: []Rule{{Name: "x", When: nested, Then: Deny}}}); err != nil {
		t.Errorf("the platform's: %v", err)
	}
}

// A policy with the same rules at other lines has the same ID, and other places.
func TestPlacesOfRules(t *testing.T) {
	a := owned(t, "true")
	r := Restriction{Owner: "team", Backends: []string{"crm"}, Rules: []Rule{{Name: "r0", When: "true", Then: Deny}}, Places: []string{"crm.yaml:4"}}
	b, err := Compile(Settings{Default: Allow, Restrictions: []Restriction{r}})
	if err != nil {
		t.Fatal(err)
	}
	if a.ID() != b.ID() || a.SamePlaces(b) || !a.SamePlaces(owned(t, "true")) || a.SamePlaces(nil) {
		t.Errorf("same ID %t, same places %t", a.ID() == b.ID(), a.SamePlaces(b))
	}
}
