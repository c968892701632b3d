//go:build !race

// These compute for long in one goroutine, where the race detector finds nothing.

package policy

import (
	"encoding/json"
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/internal/uris"
	"github.com/mcpedge/mcpedge/internal/uris/uristest"
)

// A policy decides as a plain evaluator of its settings does, and lists what some arguments make usable.
func TestAgainstReference(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	const each = 50
	effects, listings := map[Effect]int{}, map[bool]int{}
	for range *cases / each {
		f := drawPolicy(r)
		p, err := Compile(f.s)
		if err != nil {
			t.Fatalf("seed %d: %+v: %v", seed, f.s, err)
		}
		looks := slices.ContainsFunc(f.rules, func(d drawn) bool { return d.arguments })
		for range each {
			w := drawWorld(r)
			want := f.decide(w)
			effects[want]++
			got, err := p.Decide(&w.who, &w.target, given(w.args))
			if err != nil || got.Effect != want || got.Open {
				t.Fatalf("seed %d: %+v\n%+v: %+v, %v, want %s", seed, f.s, w, got, err, want)
			}
			usable := false
			for _, args := range possibleArguments {
				e := f.decide(&world{w.who, w.target, args})
				usable = usable || e == Allow || e == StepUp && f.s.Lists != Allowed
			}
			listed := p.Listed(&w.who, &w.target)
			listings[listed]++
			// A list may show what no arguments make usable only where rules look at arguments.
			if listed != usable && !(listed && looks) {
				t.Fatalf("seed %d: %+v\n%+v: listed %v, want %v", seed, f.s, w, listed, usable)
			}
		}
	}
	for _, e := range []Effect{Allow, Hide, Deny, StepUp} {
		if effects[e] == 0 {
			t.Errorf("none of the drawn decisions was %s", e)
		}
	}
	if listings[true] == 0 || listings[false] == 0 {
		t.Errorf("listed: %v", listings)
	}
}

// drawRestriction returns rules and scopes of an owner of the backend crm. Its settings are those of a
// policy with the hierarchy of the platform.
func drawRestriction(r *rand.Rand, platform *reference) *reference {
	f := drawPolicy(r)
	f.s.Default, f.s.Hierarchy = Allow, platform.s.Hierarchy
	for i := range f.s.Rules {
		f.s.Rules[i].Then = pick(r, []Effect{Hide, Deny})
	}
	return f
}

// Restrictions take away from what the rules allow, on their backends alone, and never give anything.
func TestRestrictionsAgainstReference(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	const each = 50
	effects := map[Effect]int{}
	for range *cases / each / 4 {
		f := drawPolicy(r)
		own := drawRestriction(r, f)
		s := f.s
		s.Restrictions = []Restriction{{Owner: "crm", Backends: []string{"crm"}, Rules: own.s.Rules, Scopes: own.s.Scopes}}
		alone, err := Compile(f.s)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		p, err := Compile(s)
		if err != nil {
			t.Fatalf("seed %d: %+v: %v", seed, s, err)
		}
		unscoped := &reference{s: own.s, rules: own.rules}
		unscoped.s.Scopes = nil
		decide := func(w *world) Effect {
			effect := f.decide(w)
			if effect == Deny || effect == Hide {
				return effect
			}
			if refused := unscoped.decide(w); refused != Allow {
				return refused
			}
			if own.decide(w) == StepUp {
				return StepUp
			}
			return effect
		}
		looks := slices.ContainsFunc(append(f.rules, own.rules...), func(d drawn) bool { return d.arguments })
		for range each {
			w := drawWorld(r)
			w.target.Backend = "other"
			got, _ := p.Explain(&w.who, &w.target, given(w.args))
			if was, _ := alone.Explain(&w.who, &w.target, given(w.args)); got.Effect != was.Effect || got.Rule != was.Rule || p.Listed(&w.who, &w.target) != alone.Listed(&w.who, &w.target) {
				t.Fatalf("seed %d: %+v\n%+v: another backend: %+v, want %+v", seed, s, w, got, was)
			}
			w.target.Backend = "crm"
			want := decide(w)
			effects[want]++
			got, err := p.Decide(&w.who, &w.target, given(w.args))
			if err != nil || got.Effect != want || got.Open {
				t.Fatalf("seed %d: %+v\n%+v: %+v, %v, want %s", seed, s, w, got, err, want)
			}
			usable := false
			for _, args := range possibleArguments {
				e := decide(&world{w.who, w.target, args})
				usable = usable || e == Allow || e == StepUp && f.s.Lists != Allowed
			}
			if listed := p.Listed(&w.who, &w.target); listed != usable && !(listed && looks) {
				t.Fatalf("seed %d: %+v\n%+v: listed %v, want %v", seed, s, w, listed, usable)
			}
		}
	}
	for _, e := range []Effect{Allow, Hide, Deny, StepUp} {
		if effects[e] == 0 {
			t.Errorf("none of the drawn decisions was %s", e)
		}
	}
}

// drawNumber is a number of JSON near where doubles and integers lose digits.
func drawNumber(r *rand.Rand) string {
	base := pick(r, []string{"0", "1", "9007199254740992", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "100000000000000000000000", "4503599627370496"})
	n, _ := new(big.Int).SetString(base, 10)
	n.Add(n, big.NewInt(r.Int64N(5)-2))
	text := n.String()
	if r.IntN(4) == 0 {
		text = strings.TrimPrefix(text, "-")
		text = "-" + text
	}
	switch r.IntN(6) {
	case 0:
		text += pick(r, []string{".0", ".5", ".00000000000000000001", ".1", ".25"})
	case 1:
		text += pick(r, []string{"e0", "E+1", "e-1", "e-20", "e300", "e-300", "e400", "e-400"})
	case 2:
		text += pick(r, []string{".10e1", ".000e0"})
	}
	return text
}

// rational is the number that a text denotes.
func rational(text string) *big.Rat {
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return n
}

// Whatever two numbers a claim and an argument are, alone, in lists, in maps, and behind in: CEL compares them as they are written.
func TestNumbersAreComparedExactly(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	policies := map[string]*Policy{}
	holds := func(text, claim, argument string) (bool, error) {
		if policies[text] == nil {
			policies[text] = when(t, text)
		}
		args, err := DecodeObject([]byte(`{"x":` + argument + `}`))
		if err != nil {
			t.Fatal(err)
		}
		who := mcp.Principal{Subject: "s", Claims: map[string]json.RawMessage{"x": json.RawMessage(claim)}}
		d := decide(t, policies[text], who, ship, args)
		return d.Effect == Allow, d.Err
	}
	for range 2_000 {
		a, b := drawNumber(r), drawNumber(r)
		if r.IntN(3) == 0 {
			b = a
		}
		order := rational(a).Cmp(rational(b))
		for text, want := range map[string]bool{
			`principal.claims.x == arguments.x`:                             order == 0,
			`arguments.x == principal.claims.x`:                             order == 0,
			`principal.claims.x != arguments.x`:                             order != 0,
			`principal.claims.x < arguments.x`:                              order < 0,
			`principal.claims.x <= arguments.x`:                             order <= 0,
			`arguments.x < principal.claims.x`:                              order > 0,
			`principal.claims.x >= arguments.x`:                             order >= 0,
			`principal.claims.x in [arguments.x]`:                           order == 0,
			`[principal.claims.x].exists(c, c == arguments.x)`:              order == 0,
			`[1, principal.claims.x] == [1.0, arguments.x]`:                 order == 0,
			`{"a": [principal.claims.x]} == {"a": [arguments.x]}`:           order == 0,
			`{"a": {"b": arguments.x}} != {"a": {"b": principal.claims.x}}`: order != 0,
		} {
			if got, err := holds(text, a, b); err != nil || got != want {
				t.Fatalf("seed %d: %s with the claim %s and the argument %s: %v, %v; want %v", seed, text, a, b, got, err, want)
			}
		}
		for text, both := range map[string][2]string{
			`arguments.x in principal.claims.x`:           {"[true,null," + a + `,"x"]`, b},
			`principal.claims.x in arguments.x`:           {a, "[[" + b + "]," + b + "]"},
			`principal.claims.x == arguments.x`:           {`{"deep":[` + a + `]}`, `{"deep":[` + b + `]}`},
			`principal.claims.x.all(c, c in arguments.x)`: {"[" + a + "]", "[" + b + "]"},
		} {
			if got, err := holds(text, both[0], both[1]); err != nil || got != (order == 0) {
				t.Fatalf("seed %d: %s with %s and %s: %v, %v", seed, text, both[0], both[1], got, err)
			}
		}
	}
}

// Callers are decided on alike by every spelling that a backend decodes to the same, in the normal form that it gets, and what is
// refused of the decoded form is refused by every spelling.
func TestSpellingsAreDecidedAlike(t *testing.T) {
	patterns := []string{"docs://public/**", "docs://secret/**", "docs://*/a b", "docs://**é**"}
	r := rand.New(rand.NewPCG(37, 8))
	for range 200 {
		settings := Settings{Default: Allow, Scopes: []Scopes{{Resources: []string{patterns[r.IntN(len(patterns))]}, Need: []string{"admin"}}}}
		p, err := Compile(settings)
		if err != nil {
			t.Fatal(err)
		}
		for _, decoded := range []string{"docs://public/a b", "docs://secret/é", "docs://secret/../public/x", "docs://x/a b"} {
			want := Effect("")
			for range 20 {
				uri := uristest.Respell(r, decoded)
				d, err := p.Explain(&mcp.Principal{}, &Target{Kind: Resource, Name: uris.Normal(uri)}, noArguments)
				if err != nil || want != "" && d.Effect != want {
					t.Fatalf("%v: %s: %s, %v; other spellings: %s", settings.Scopes, uri, d.Effect, err, want)
				}
				want = d.Effect
				if plain, _ := p.Explain(&mcp.Principal{}, &Target{Kind: Resource, Name: decoded}, noArguments); plain.Effect != want {
					t.Fatalf("%v: %s: %s; decoded: %s", settings.Scopes, uri, want, plain.Effect)
				}
			}
		}
	}
}

// What calls read and copy is counted by its size, also within lists and where the type is not known.
func TestSizesOfConditionsAreCounted(t *testing.T) {
	double := `[[arguments.list]]`
	for range 40 {
		double += `.map(l, [l, l])`
	}
	longer := `[arguments.list]`
	for range 40 {
		longer += `.map(l, l + l)`
	}
	tool := &Target{Kind: Tool, Method: mcp.MethodToolsCall, Name: "crm_find", Backend: "crm"}
	large := given(map[string]any{"text": strings.Repeat("a", 1<<20), "list": make([]any, 50_000), "few": []any{"a"}})
	for when, costly := range map[string]bool{
		`arguments.text == "x"`:                                              false,
		`arguments.text.contains("xyz")`:                                     false,
		`arguments.text.startsWith("x")`:                                     false,
		`size(arguments.text) > 2000000`:                                     false,
		strings.Repeat(`arguments.text + `, 35) + `"a" == "x"`:               true,
		`arguments.text.matches("^(a|b)*c$")`:                                true,
		`arguments.text.matches("x") || arguments.text != "x"`:               true,
		`["a", "b", "c"].exists(s, size(arguments.text) == size(s))`:         true,
		`[1, 2, 3, 4].all(n, int(size(string(bytes(arguments.text)))) == n)`: true,
		`[arguments.list] == [arguments.list]`:                               true,
		`"x" in arguments.list`:                                              true,
		`"x" in arguments.few`:                                               false,
		double + ` == ` + double:                                             true,
		longer + ` == ` + longer:                                             true,
	} {
		cost, err := EstimatedCost(when)
		if err != nil || cost > MaxRuleCost {
			t.Errorf("%.80s: estimated %d, %v", when, cost, err)
		}
		d, err := owned(t, when).Decide(scoped(1), tool, large)
		if err != nil || errors.Is(d.Err, errCost) != costly || !costly && d.Effect != Allow {
			t.Errorf("%.80s: %+v, %v, want costly %t", when, d, err, costly)
		}
	}
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
