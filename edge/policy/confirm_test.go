package policy

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

func confirmed(t *testing.T, list ...Confirm) *Policy {
	t.Helper()
	return compiled(t, Settings{Confirm: list})
}

// namesOf returns the names of obligations, with a mark for open ones.
func namesOf(list []Obligation) string {
	var out []string
	for _, o := range list {
		if o.Open {
			out = append(out, o.Name+"?")
		} else {
			out = append(out, o.Name)
		}
	}
	return strings.Join(out, " ")
}

// All confirmations whose conditions hold apply, to tools alone, and those that depend on unknown arguments are open.
func TestObligations(t *testing.T) {
	p := confirmed(t,
		Confirm{Name: "destructive", When: "tool.annotations.destructive", Message: "m"},
		Confirm{Name: "large", When: "arguments.amount > 100", Message: "m"},
		Confirm{Name: "interns", When: `"intern" in principal.roles`, Message: "m"})
	tool := Target{Kind: Tool, Name: "pay", Backend: "b", Hints: Hints{Destructive: true}}
	who := &mcp.Principal{Subject: "ann"}
	for name, c := range map[string]struct {
		target Target
		who    *mcp.Principal
		args   Arguments
		want   string
	}{
		"unknown arguments": {tool, who, nil, "destructive large?"},
		"a small amount":    {tool, who, given(map[string]any{"amount": int64(1)}), "destructive"},
		"a large amount":    {tool, who, given(map[string]any{"amount": int64(101)}), "destructive large"},
		"an intern":         {tool, &mcp.Principal{Subject: "bob", Roles: []string{"intern"}}, given(map[string]any{"amount": int64(101)}), "destructive large interns"},
		"a prompt":          {Target{Kind: Prompt, Name: "pay"}, who, given(nil), ""},
		"a resource":        {Target{Kind: Resource, Name: "a:b"}, who, given(nil), ""},
	} {
		list, failed, err := p.Obligations(c.who, &c.target, c.args)
		if got := namesOf(list); got != c.want || failed != nil || err != nil {
			t.Errorf("%s: %q, %v, %v, want %q", name, got, failed, err, c.want)
		}
	}
	broken := errors.New("broken")
	if _, _, err := p.Obligations(who, &tool, func() (map[string]any, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("arguments that cannot be read: %v", err)
	}
	_, failed, err := p.Obligations(who, &tool, given(map[string]any{}))
	if err != nil || failed == nil || failed.Effect != Deny || failed.Rule != "large" || failed.Err == nil {
		t.Fatalf("a condition that cannot be evaluated: %+v, %v", failed, err)
	}
	p.Unconfirmed("large", true)
	p.Unconfirmed("interns", false)
	counts := map[string][2]int64{}
	p.Denied(func(rule string, denied, failed int64) { counts[rule] = [2]int64{denied, failed} })
	if counts["large"] != [2]int64{1, 1} || counts["interns"] != [2]int64{1, 0} || counts["destructive"] != [2]int64{} || len(counts) != 5 {
		t.Errorf("counted %v", counts)
	}
}

// What confirmations inspect is kept of a principal, and does not split the lists of callers.
func TestConfirmationsInspectCallers(t *testing.T) {
	p := confirmed(t, Confirm{Name: "c", When: `principal.claims.tenant == "a" && "x" in principal.roles`, Message: "m"})
	if names, all := p.Claims(); len(names) != 1 || names[0] != "tenant" || all || !p.UsesRoles() || p.Filters() {
		t.Errorf("claims %q, %t, roles %t, filters %t", names, all, p.UsesRoles(), p.Filters())
	}
	a := p.AppendEntitlement(nil, &mcp.Principal{Roles: []string{"x"}})
	if b := p.AppendEntitlement(nil, &mcp.Principal{}); string(a) != string(b) {
		t.Errorf("entitlements %q and %q", a, b)
	}
}

// Settings that cannot be obeyed are refused.
func TestInvalidConfirmations(t *testing.T) {
	good := Confirm{Name: "c", When: "true", Message: "m"}
	with := func(change func(*Confirm)) []Confirm {
		c := good
		change(&c)
		return []Confirm{c}
	}
	for want, list := range map[string][]Confirm{
		"give the confirmation a name":       with(func(c *Confirm) { c.Name = "" }),
		"is that of a rule":                  {good, good},
		"confirm[0] c: when: it is":          with(func(c *Confirm) { c.When = "tool.name" }),
		"undeclared reference to 'resource'": with(func(c *Confirm) { c.When = `resource.uri == "a:b"` }),
		"undeclared reference to 'prompt'":   with(func(c *Confirm) { c.When = `prompt.name == "p"` }),
		"say what the user":                  with(func(c *Confirm) { c.Message = " " }),
		"give at most 1000":                  with(func(c *Confirm) { c.Message = strings.Repeat("x", 1001) }),
		"cannot be printed":                  with(func(c *Confirm) { c.Message = "a\u202eb" }),
		"write {arguments.NAME}":             with(func(c *Confirm) { c.Message = "a {name}" }),
		"{arguments.} is no":                 nil,
		"a } without a {":                    with(func(c *Confirm) { c.Message = "a } b" }),
		"remember: 25h0m0s":                  with(func(c *Confirm) { c.Remember = 25 * time.Hour }),
		"remember: -1s":                      with(func(c *Confirm) { c.Remember = -time.Second }),
		"confirm: 33 entries":                make([]Confirm, 33),
	} {
		if list == nil {
			want, list = "is not an argument", with(func(c *Confirm) { c.Message = "{arguments.}" })
		}
		if _, err := Compile(Settings{Confirm: list}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := Compile(Settings{Default: Allow, Rules: []Rule{{Name: "c", When: "true", Then: Allow}}, Confirm: []Confirm{good}}); err == nil {
		t.Error("a confirmation may have the name of a rule")
	}
	plain, other := compiled(t, Settings{}), confirmed(t, good)
	if plain.ID() == other.ID() {
		t.Error("a confirmation does not change the digest of the policy")
	}
}

// A message has the values of arguments in their places.
func TestMessageOfConfirmation(t *testing.T) {
	p := confirmed(t, Confirm{Name: "c", When: "true", Message: "Pay {arguments.amount} to {arguments.to.iban}."})
	list, _, _ := p.Obligations(&mcp.Principal{}, &Target{Kind: Tool}, given(nil))
	if got := list[0].Text(func(path []string) string { return "<" + strings.Join(path, "/") + ">" }); got != "Pay <amount> to <to/iban>." {
		t.Error(got)
	}
}
