package policy

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Approvals apply beside confirmations, whichever rule allowed the call; those of an owner apply to its backends alone.
func TestApprovalsAccumulate(t *testing.T) {
	p := compiled(t, Settings{
		Default: Deny, Rules: []Rule{{Name: "all", When: "true", Then: Allow}},
		Confirm:      []Confirm{{Name: "asked", When: "true", Message: "m"}},
		Approve:      []Approve{{Name: "large", When: "arguments.amount > 100", Message: "m"}, {Name: "tried", When: "true", Message: "m", Mode: Audit}},
		Restrictions: []Restriction{{Owner: "crm", Backends: []string{"b"}, Approve: []Approve{{Name: "all", When: "true", Message: "m", Expires: time.Minute}}}},
	})
	who := &mcp.Principal{Subject: "ann"}
	tool, other := Target{Kind: Tool, Name: "pay", Backend: "b"}, Target{Kind: Tool, Name: "pay", Backend: "c"}
	for name, c := range map[string]struct {
		target Target
		args   Arguments
		want   string
	}{
		"unknown arguments":  {tool, nil, "asked large? crm/all"},
		"a small amount":     {tool, given(map[string]any{"amount": int64(1)}), "asked crm/all"},
		"a large amount":     {tool, given(map[string]any{"amount": int64(101)}), "asked large crm/all"},
		"another's backend":  {other, given(map[string]any{"amount": int64(101)}), "asked large"},
		"a prompt of theirs": {Target{Kind: Prompt, Name: "pay", Backend: "b"}, given(nil), ""},
	} {
		list, failed, err := p.Obligations(who, &c.target, c.args)
		if got := namesOf(list); got != c.want || failed != nil || err != nil {
			t.Errorf("%s: %q, %v, %v, want %q", name, got, failed, err, c.want)
		}
	}
	list, _, _ := p.Obligations(who, &tool, given(map[string]any{"amount": int64(101)}))
	if list[0].Approval() || !list[1].Approval() || list[1].Expires() != DefaultExpires || list[2].Expires() != time.Minute || !p.Approves() {
		t.Errorf("%+v", list)
	}
	d, _ := p.Explain(who, &tool, given(map[string]any{"amount": int64(1)}))
	trials := p.Trials(who, &tool, given(nil), &d)
	if len(trials) != 1 || trials[0] != (mcp.Trial{Effect: "approve", By: KindApproval, Rule: "tried"}) {
		t.Errorf("trials: %v", trials)
	}
}

// Approvers are those for whom the expression is true: it sees the approver and the arguments of the call.
func TestApprovers(t *testing.T) {
	p := compiled(t, Settings{Approve: []Approve{
		{Name: "a", When: "true", Message: "m", Approvers: `"lead" in principal.roles && principal.claims.limit >= arguments.amount && tool.name == "pay"`},
		{Name: "b", When: "true", Message: "m"},
	}})
	tool := Target{Kind: Tool, Name: "pay", Backend: "b"}
	list, _, err := p.Obligations(&mcp.Principal{Subject: "ann"}, &tool, given(nil))
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	lead := func(limit string) *mcp.Principal {
		return &mcp.Principal{Subject: "lee", Roles: []string{"lead"}, Claims: map[string]json.RawMessage{"limit": json.RawMessage(limit)}}
	}
	args := map[string]any{"amount": int64(5000)}
	for name, c := range map[string]struct {
		who    *mcp.Principal
		of     int
		want   bool
		failed bool
	}{
		"a lead":                    {lead("5000"), 0, true, false},
		"a lead with a lower limit": {lead("4999"), 0, false, false},
		"a lead without a limit":    {&mcp.Principal{Subject: "lee", Roles: []string{"lead"}}, 0, false, true},
		"no lead":                   {&mcp.Principal{Subject: "bob"}, 0, false, false},
		"no expression":             {&mcp.Principal{Subject: "bob"}, 1, true, false},
	} {
		if got, err := list[c.of].Approves(c.who, &tool, args); got != c.want || (err != nil) != c.failed {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if names, _ := p.Claims(); len(names) != 1 || names[0] != "limit" || !p.UsesRoles() {
		t.Errorf("the claims are %v", names)
	}
}

// Whether calls of a tool may have to wait, for anybody, does not depend on who asks.
func TestAwaits(t *testing.T) {
	p := compiled(t, Settings{Approve: []Approve{
		{Name: "always", When: `tool.name == "pay" && backend == "b"`, Message: "m"},
		{Name: "some", When: `"staff" in principal.roles && tool.annotations.destructive`, Message: "m"},
		{Name: "large", When: `tool.name == "move" && arguments.amount > 100`, Message: "m"},
	}})
	for want, tool := range map[[2]bool]Target{
		{true, true}:   {Kind: Tool, Name: "pay", Backend: "b"},
		{false, false}: {Kind: Tool, Name: "pay", Backend: "c"},
	} {
		if may, always := p.Awaits(&tool); may != want[0] || always != want[1] {
			t.Errorf("%s of %s: %v, %v", tool.Name, tool.Backend, may, always)
		}
	}
	for _, tool := range []Target{{Kind: Tool, Name: "move", Backend: "c"}, {Kind: Tool, Name: "wipe", Backend: "c", Hints: Hints{Destructive: true}}} {
		if may, always := p.Awaits(&tool); !may || always {
			t.Errorf("%s: %v, %v", tool.Name, may, always)
		}
	}
}

// Invalid approvals are refused with their path.
func TestInvalidApprovals(t *testing.T) {
	for want, s := range map[string]Settings{
		`approve[0] a: when: `:                   {Approve: []Approve{{Name: "a", When: "tool.nam == 1", Message: "m"}}},
		`approve[0] a: approvers: `:              {Approve: []Approve{{Name: "a", When: "true", Message: "m", Approvers: "prompt.name == principal.subject"}}},
		`approve[0] a: message: it is empty`:     {Approve: []Approve{{Name: "a", When: "true"}}},
		`approve[0] a: expires: 25h0m0s`:         {Approve: []Approve{{Name: "a", When: "true", Message: "m", Expires: 25 * time.Hour}}},
		`approve[0] a: mode: "x"`:                {Approve: []Approve{{Name: "a", When: "true", Message: "m", Mode: "x"}}},
		`approve[0] : name: "": give the`:        {Approve: []Approve{{When: "true", Message: "m"}}},
		`approve[0]: name: "a" is that of`:       {Rules: []Rule{{Name: "a", When: "true", Then: Deny}}, Default: Allow, Approve: []Approve{{Name: "a", When: "true", Message: "m"}}},
		`approve[1] a: name: "a" is used twice`:  {Approve: []Approve{{Name: "a", When: "true", Message: "m"}, {Name: "a", When: "true", Message: "m"}}},
		`restrictions of x: approve[0] a: when:`: {Restrictions: []Restriction{{Owner: "x", Approve: []Approve{{Name: "a", When: "1", Message: "m"}}}}},
	} {
		if _, err := Compile(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	r := Restriction{Owner: "x", Approve: []Approve{{Name: "a", When: "1", Message: "m"}}}
	if err := r.Validate(); err == nil || !strings.HasPrefix(err.Error(), "approve[0] a: when: ") {
		t.Errorf("%v", err)
	}
}
