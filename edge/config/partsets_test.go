package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
)

// ownSets are settings of a platform whose first team may define sets.
var ownSets = strings.NewReplacer("may: [catalog, policy]", "may: [catalog, policy, sets]", "prefixes: [crm_]", "prefixes: [crm_], sets: [crm, crm-*]").Replace(granted) + `
sets: {desk: {include: {tools: [find]}}}
`

const goodSets = `
sets:
  crm: {title: CRM, include: {backends: [crm]}, exclude: {tools: ['delete_*']}, when: '"crm" in principal.roles', scopes: [crm:use]}
  crm-all: {include: {backends: ['*'], tools: ['**'], resources: ['**']}}
`

// A set of an owner has members of the owner's backends alone, whatever its patterns match.
func TestSetsOfOwners(t *testing.T) {
	d := newTeams(t, ownSets, "teams/crm/a.yaml", goodSets, "teams/pay.yaml", goodPay)
	cfg := d.load()
	wantStates(t, "at a start", &cfg, OwnerInForce, OwnerInForce)
	sets, err := cfg.OpenSets()
	if err != nil || len(sets) != 3 {
		t.Fatalf("%v, %v", sets, err)
	}
	if one := sets["crm"]; one.When == nil || !one.Private || one.AcceptRoot || one.Title != "CRM" || !slices.Equal(one.Scopes, []string{"crm:use"}) || one.Has(nil, overlay.KindTool, "crm", "delete_all") {
		t.Errorf("%+v", one)
	}
	all := sets["crm-all"]
	for _, kind := range []overlay.Kind{overlay.KindTool, overlay.KindPrompt, overlay.KindResource} {
		if !all.Has(nil, kind, "crm", "x") || all.Has(nil, kind, "pay", "x") || all.Include.MayHave(cfg.Overlay(), kind, "pay") || all.Include.HasBackend("pay") {
			t.Errorf("the set has another owner's %v, or lacks an own one", kind)
		}
	}
	if !sets["desk"].Has(nil, overlay.KindTool, "pay", "find") {
		t.Error("the platform's set is narrowed")
	}
}

// What an owner's file says of sets stays in force while it is broken, and is gone while it is away.
func TestSetsOfOwnersWhileRunning(t *testing.T) {
	const file, more = "teams/crm/a.yaml", "teams/crm/b.yaml"
	d := newTeams(t, ownSets, file, goodSets, more, "sets: {crm-more: {include: {tools: [find]}}}\n", "teams/pay.yaml", goodPay)
	r, g := d.start()
	for i, step := range []struct {
		file, text string
		state      OwnerState
		sets       int
	}{
		{file, goodSets + "  pay: {include: {tools: [x]}}\n", OwnerStale, 4},
		{file, strings.Replace(goodSets, "principal.roles", "principal.rules", 1), OwnerStale, 4},
		{file, goodSets, OwnerInForce, 4},
		{more, "-", OwnerStale, 4},
		{file, "-", OwnerHidden, 1},
		{file, "sets: [", OwnerStale, 4},
		{more, "catalog: {}\n", OwnerStale, 4},
		{file, goodSets, OwnerInForce, 3},
		{more, "-", OwnerInForce, 3},
		{file, "catalog: {}\n", OwnerInForce, 1},
	} {
		d.put(step.file, step.text)
		g = d.read(r, g)
		wantStates(t, fmt.Sprint("step ", i), &g.Config, step.state, OwnerInForce)
		if len(g.Sets) != step.sets {
			t.Errorf("step %d: there are %d sets, want %d", i, len(g.Sets), step.sets)
		}
	}
}

// What the grant does not allow of sets is refused with its line.
func TestSetsBeyondTheGrant(t *testing.T) {
	set := func(text string) string { return "sets:\n  crm:\n    " + text + "\n" }
	for name, c := range map[string]struct{ file, line, want string }{
		"another name":        {"sets:\n  pay: {include: {tools: [x]}}\n", "2", `sets.pay: the grant "team" has the names "crm", "crm-*"`},
		"a name that is none": {"sets:\n  crm-A: {include: {tools: [x]}}\n", "", `"crm-A" is not a name of a set`},
		"another backend":     {set("include: {backends: [pay]}"), "3", `sets.crm.include.backends: "pay" is not the owner's`},
		"no backend":          {set("include: {backends: [other]}"), "3", `sets.crm.include.backends: "other" is not a backend`},
		"the root's audience": {set("accept-root: true"), "3", "sets.crm.accept-root: it is the platform's"},
		"search":              {set("search: on"), "3", "sets.crm.search: it is the platform's"},
		"tools":               {set("as-tools: [resources]"), "3", "sets.crm.as-tools: it is the platform's"},
		"schemas":             {set("schemas: full"), "3", "sets.crm.schemas: it is the platform's"},
		"the root":            {"root: crm\n", "1", "root: it is the platform's"},
		"nothing":             {set("title: x"), "2", "sets.crm: include: it is missing"},
		"an unknown key":      {set("includes: {tools: [x]}"), "3", "include"},
		"a condition":         {set("include: {tools: [x]}\n    when: tool.name == 'x'"), "4", "sets.crm.when"},
		"a scope":             {set("include: {tools: [x]}\n    scopes: ['a b']"), "4", "sets.crm.scopes"},
		"stars":               {set("include: {tools: ['" + strings.Repeat("*a", 9) + "']}"), "1", "9 stars"},
		"many":                {"sets:\n" + manySets(maxIncludedSets+1), "", "have at most 50"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTeams(t, ownSets, "teams/crm/a.yaml", c.file, "teams/pay.yaml", goodPay)
			cfg := d.load()
			wantStates(t, name, &cfg, OwnerHidden, OwnerInForce)
			err := fmt.Sprint(cfg.Owners()[0].Err)
			place := d.path("teams/crm/a.yaml") + ":" + c.line
			if !strings.Contains(err, c.want) || c.line != "" && !strings.Contains(err, place) && !strings.Contains(err, "["+c.line+":") {
				t.Errorf("%s\nwant %s and %s", err, place, c.want)
			}
		})
	}
	d := newTeams(t, ownSets, "teams/crm/a.yaml", goodSets, "teams/crm/b.yaml", set("include: {tools: [x]}"), "teams/pay.yaml", "sets: {}\n")
	cfg := d.load()
	if err := fmt.Sprint(cfg.Owners()[0].Err); !strings.Contains(err, "b.yaml:2: sets.crm: it is in ") {
		t.Errorf("a set twice: %v", err)
	}
	if err := fmt.Sprint(cfg.Owners()[1].Err); !strings.Contains(err, "pay.yaml:1: sets: it is the platform's") {
		t.Errorf("sets without a grant: %v", err)
	}
}

// The platform may rename a group that a set of an owner includes: the set lacks it, and nothing else changes.
func TestGroupsOfOwnedSets(t *testing.T) {
	d := newTeams(t, ownSets, "teams/crm/a.yaml",
		"sets:\n  crm:\n    include: {tools: [find], groups: [desk]}\n", "teams/pay.yaml", goodPay)
	cfg := d.load()
	wantStates(t, "without the group", &cfg, OwnerInForce, OwnerInForce)
	want := d.path("teams/crm/a.yaml") + `:3: sets.crm.include.groups: no entry of the catalog has the group "desk"`
	if notes := cfg.Ineffective(); !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, want) }) {
		t.Errorf("%q, want %s", notes, want)
	}
}

func manySets(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("  crm-%d: {include: {tools: [x]}}\n", i)
	}
	return text
}

// The conditions of an owner have a budget, each and together.
func TestCostsOfOwners(t *testing.T) {
	const nested = `principal.scopes.exists(a, principal.scopes.exists(b, principal.scopes.exists(c, a == b && b == c)))`
	const loop = `principal.scopes.exists(s, s.matches("^crm:(read|write)$"))`
	many := "policy:\n  rules:\n"
	for i := range maxIncludedRules {
		many += fmt.Sprintf("  - {name: r%d, when: '%s', then: deny}\n", i, loop)
	}
	manySets, values := "sets:\n", "catalog:\n  tools:\n"
	for i := range maxIncludedSets {
		manySets += fmt.Sprintf("  crm-%d: {include: {tools: [x]}, when: '%s'}\n", i, loop)
		values += fmt.Sprintf("  - {tool: t%d, arguments: {x: {from: '%s'}}}\n", i, loop)
	}
	for text, want := range map[string]string{
		"policy:\n  rules:\n  - {name: x, when: '" + nested + "', then: deny}\n": "a.yaml:3: policy.rules[0] x: when: its estimated cost is",
		"sets:\n  crm:\n    include: {tools: [x]}\n    when: '" + nested + "'\n": "a.yaml:4: sets.crm.when: its estimated cost is",
		many:     "at most 100000 is allowed: simplify them, first of all policy.rules[0].when in ",
		manySets: "at most 100000 is allowed: simplify them, first of all sets.crm-0.when in ",
		values:   "at most 100000 is allowed: simplify them, first of all catalog.tools[0].arguments.x.from in ",
		"catalog:\n  tools:\n  - {tool: find, arguments: {x: {from: '\"a\".matches(\".{1000}.{1000}\")'}}}\n": "a.yaml:3: catalog.tools[0]: arguments.x: from: matches: the regular expression",
	} {
		d := newTeams(t, ownSets, "teams/crm/a.yaml", text, "teams/pay.yaml", goodPay)
		cfg := d.load()
		wantStates(t, want, &cfg, OwnerHidden, OwnerInForce)
		if err := fmt.Sprint(cfg.Owners()[0].Err); !strings.Contains(err, want) {
			t.Errorf("%.300s\nwant %s", err, want)
		}
	}
	d := newTeams(t, ownSets, "teams/crm/a.yaml", "policy:\n  rules:\n  - {name: x, when: '"+loop+"', then: deny}\n", "teams/pay.yaml", goodPay)
	cfg := d.load()
	if got := cfg.restrictions(); len(got) != 1 || got[0].Places[0] != d.path("teams/crm/a.yaml")+":3" {
		t.Errorf("%+v", got)
	}
}

// The condition of a set has the place of its file, which the log names.
func TestPlacesOfOwnedSets(t *testing.T) {
	d := newTeams(t, ownSets, "teams/crm/a.yaml", "sets:\n  crm:\n    include: {tools: [x]}\n    when: principal.claims.a == 1\n  crm-b: {include: {tools: [x]}}\n", "teams/pay.yaml", goodPay)
	cfg := d.load()
	sets, err := cfg.OpenSets()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"crm": d.path("teams/crm/a.yaml") + ":4", "crm-b": "", "desk": ""} {
		if got := sets[name].Place; got != want {
			t.Errorf("%s is at %q, want %q", name, got, want)
		}
	}
}
