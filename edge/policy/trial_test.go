package policy

import (
	"fmt"
	"math/rand/v2"
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

// A policy decides, lists and distinguishes callers as the one without its rules in audit mode does, and each of these is a trial if the
// policy would decide otherwise with it in force.
func TestAuditMode(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 3))
	found := 0
	for range *cases / 200 {
		f := drawPolicy(r)
		own := drawRestriction(r, f)
		for _, rules := range [][]Rule{f.s.Rules, own.s.Rules} {
			for i := range rules {
				rules[i].Mode = pick(r, []Mode{"", Enforce, Audit})
			}
		}
		with := func(rules, ownRules []Rule) *Policy {
			s := f.s
			s.Rules, s.Restrictions = rules, []Restriction{{Owner: "crm", Backends: []string{"crm"}, Rules: ownRules}}
			return compiled(t, s)
		}
		p, plain := with(f.s.Rules, own.s.Rules), with(without(f.s.Rules), without(own.s.Rules))
		for range 20 {
			w := drawWorld(r)
			w.target.Backend = pick(r, []string{"crm", "other"})
			d, err := p.Explain(&w.who, &w.target, given(w.args))
			want, err2 := plain.Explain(&w.who, &w.target, given(w.args))
			open, _ := p.Explain(&w.who, &w.target, nil)
			wantOpen, _ := plain.Explain(&w.who, &w.target, nil)
			if err != nil || err2 != nil || d.Effect != want.Effect || d.Rule != want.Rule || open.Effect != wantOpen.Effect || open.Open != wantOpen.Open ||
				p.Listed(&w.who, &w.target) != plain.Listed(&w.who, &w.target) ||
				string(p.AppendEntitlement(nil, &w.who)) != string(plain.AppendEntitlement(nil, &w.who)) || p.Filters() != plain.Filters() {
				t.Fatalf("seed %d: %+v\n%+v: %+v, without audit %+v", seed, f.s, w, d, want)
			}
			if w.target.Kind == Resource || w.target.Kind == Template { // whose other forms are not compared here
				continue
			}
			would := p.Trials(&w.who, &w.target, given(w.args), &d)
			compare := func(name string, one *Policy) {
				in, _ := one.Explain(&w.who, &w.target, given(w.args))
				i := slices.IndexFunc(would, func(m mcp.Trial) bool { return m.Rule == name })
				if (i >= 0) != (in.Effect != d.Effect) || i >= 0 && would[i].Effect != string(in.Effect) {
					t.Fatalf("seed %d: %+v\n%+v: %+v, with %s in force %+v, and would %+v", seed, f.s, w, d, name, in, would)
				}
				if i >= 0 {
					found++
				}
			}
			for i, one := range f.s.Rules {
				if one.Mode == Audit {
					compare(one.Name, with(enforced(f.s.Rules, i), own.s.Rules))
				}
			}
			for i, one := range own.s.Rules {
				if one.Mode == Audit {
					compare("crm/"+one.Name, with(f.s.Rules, enforced(own.s.Rules, i)))
				}
			}
		}
	}
	if found == 0 {
		t.Error("no rule in audit mode would have changed a decision")
	}
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
