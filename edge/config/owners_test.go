package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

const hidesMore = "catalog: {tools: [{tool: export, hide: true}]}\n"

// What an owner's files say stays in force while they are broken, and is hidden while they are away;
// the settings of other owners are not affected.
func TestOwnersWhileRunning(t *testing.T) {
	const a, b, c = "teams/crm/a.yaml", "teams/crm/b.yaml", "teams/crm/c.yaml"
	type files map[string]string // "-" removes a file
	for name, steps := range map[string][]struct {
		change files
		state  OwnerState
		// same is whether the digest is that of the step before.
		same bool
		want string
	}{
		"broken, and mended": {
			{files{a: "catalog: {tools: [{tool: find, hid: true}]}\n"}, OwnerStale, true, a + `:1: unknown field "hid"`},
			{files{a: "catalog: {tools: [{tool: "}, OwnerStale, true, a},
			{files{a: hidesMore}, OwnerInForce, false, ""},
		},
		"more than its grant": {
			{files{a: goodCRM + "backends: []\n"}, OwnerStale, true, a + ":3: backends: it is the platform's"},
			{files{a: goodCRM}, OwnerInForce, true, ""},
		},
		"deleted, and put back": {
			{files{a: "-", b: "-"}, OwnerHidden, false, "there is no such file"},
			{files{a: goodCRM, b: hidesMore}, OwnerInForce, false, ""},
		},
		"a directory deleted": {{files{"teams/crm": "-"}, OwnerHidden, false, "there is no such file"}},
		"truncated":           {{files{a: "", b: "\n"}, OwnerHidden, false, "a.yaml: it is empty"}},
		"one deleted": {
			{files{b: "-"}, OwnerStale, true, b + ": it no longer exists"},
			{files{a: goodCRM + " \n# changed\n"}, OwnerStale, true, b + ": it no longer exists"},
			{files{b: "catalog: {}\n"}, OwnerInForce, false, ""},
			{files{b: "-"}, OwnerInForce, false, ""},
		},
		"one truncated":  {{files{b: ""}, OwnerStale, true, b + ": it is empty"}},
		"one renamed":    {{files{b: "-", c: hidesMore}, OwnerInForce, true, ""}},
		"one is moved":   {{files{b: "-", a: "catalog: {tools: [{tool: export, hide: true}, {tool: find, name: crm_find_customer, title: Find}, {tool: 'delete_*', hide: true}]}\n" + goodCRM[strings.Index(goodCRM, "policy"):]}, OwnerInForce, false, ""}},
		"one is changed": {{files{b: "-", c: "catalog: {tools: [{tool: export, title: Export}]}\n"}, OwnerStale, true, b + ": it no longer exists"}},
		"all deleted, then one comes": {
			{files{a: "-", b: "-"}, OwnerHidden, false, "no such file"},
			{files{a: goodCRM}, OwnerStale, false, b + ": it no longer exists"},
			{files{b: hidesMore}, OwnerInForce, true, ""},
		},
		"all deleted, then broken": {
			{files{a: "-", b: "-"}, OwnerHidden, false, "no such file"},
			{files{a: "nonsense: 1\n"}, OwnerStale, false, "nonsense"},
		},
		"a new file":        {{files{c: "catalog: {tools: [{tool: x, title: X}]}\n"}, OwnerInForce, false, ""}},
		"a new broken file": {{files{c: "x: 1\n"}, OwnerStale, true, c}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTeams(t, granted, a, goodCRM, b, hidesMore, "teams/pay.yaml", goodPay)
			r, g := d.start()
			wantStates(t, "at the start", &g.Config, OwnerInForce, OwnerInForce)
			for i, s := range steps {
				for name, text := range s.change {
					d.put(name, text)

				}
				next := d.read(r, g)
				wantStates(t, fmt.Sprint("step ", i), &next.Config, s.state, OwnerInForce)
				if (next.Digest == g.Digest) != s.same {
					t.Errorf("step %d: the digest is %s, before it was %s", i, next.Digest, g.Digest)
				}
				if err := next.Config.Owners()[0].Err; s.want != "" && !strings.Contains(fmt.Sprint(err), s.want) {
					t.Errorf("step %d: %v, want %s", i, err, s.want)
				}
				wantCurated(t, fmt.Sprint("step ", i), next, s.state == OwnerHidden)
				g = next
			}
		})
	}
}

// put writes a file, or removes it if the text is "-".
func (d *teams) put(name, text string) {
	d.t.Helper()
	if text == "-" {
		d.remove(name)
		return
	}
	d.write(name, text)
}

// wantCurated fails if a tool of the crm backend is served otherwise than it was reviewed.
func wantCurated(t *testing.T, what string, g *Generation, hidden bool) {
	t.Helper()
	tools := g.Overlay.Tools()
	for _, name := range []string{"delete_all", "find"} {
		if got := tools.Of("crm", name).Hide; hidden && !got {
			t.Errorf("%s: %s is not hidden", what, name)
		}
	}
	if !tools.Of("pay", "refund").Hide || tools.Of("pay", "pay").Hide {
		t.Errorf("%s: another owner's tools are changed", what)
	}
	if d, _ := g.Policy.Explain(new(mcp.Principal), &policy.Target{Kind: policy.Tool, Name: "x", Backend: "pay"}, nil); d.Effect != policy.Allow {
		t.Errorf("%s: another owner's tool: %+v", what, d)
	}
}

// A changed grant applies to what was in force, too; settings of the platform that are broken change
// nothing.
func TestGrantsChange(t *testing.T) {
	d := newTeams(t, granted, "teams/crm/a.yaml", goodCRM, "teams/pay.yaml", goodPay)
	r, first := d.start()
	d.write("edge.yaml", strings.Replace(granted, "may: [catalog, policy]", "may: [catalog]", 1))
	g := d.read(r, first)
	wantStates(t, "without policy", &g.Config, OwnerHidden, OwnerInForce)
	if !strings.Contains(fmt.Sprint(g.Config.Owners()[0].Err), "a.yaml:2: policy: it is the platform's") {
		t.Errorf("the error is %v", g.Config.Owners()[0].Err)
	}
	d.write("edge.yaml", strings.Replace(granted, "prefixes: [crm_]", "prefixes: [crm_x_]", 1))
	g = d.read(r, first)
	wantStates(t, "with another prefix", &g.Config, OwnerHidden, OwnerInForce)
	d.write("edge.yaml", granted)
	if g = d.read(r, g); g.Digest != first.Digest {
		t.Error("the grants of the start have another digest")
	}
	raw := []byte(granted[:strings.Index(granted, "include:")])
	if _, err := r.Read(raw, r.Included(raw), g); err == nil || !strings.Contains(err.Error(), "there is no include any more") {
		t.Errorf("without include: %v", err)
	}
	again, err := first.Renew()
	if err != nil {
		t.Fatal(err)
	}
	wantStates(t, "rolled back", &again.Config, OwnerInForce, OwnerInForce)
	if d, _ := again.Policy.Explain(new(mcp.Principal), &policy.Target{Kind: policy.Tool, Name: "x", Backend: "crm"}, nil); d.Rule != "team/eu" {
		t.Errorf("the policy that was rolled back to: %+v", d)
	}
}

// An edge that was started without a policy takes a restart to get the rules of a team.
func TestFirstRulesTakeARestart(t *testing.T) {
	const backends = "backends: [{name: crm, target: 'h:1'}]\n"
	d := newTeams(t, backends, "crm.yaml", "policy: {rules: [{name: x, when: 'true', then: deny}]}\n")
	r, g := d.start()
	raw := []byte(backends + "include:\n- {file: crm.yaml, owns: {backends: [crm]}, may: [policy]}\n")
	if _, err := r.Read(raw, r.Included(raw), g); err == nil || !strings.Contains(err.Error(), ":3: include[0]: may: policy takes a restart") {
		t.Errorf("%v", err)
	}
	d.write("edge.yaml", string(raw))
	if _, g := d.start(); g.Policy == nil || !g.Policy.Filters() {
		t.Error("an edge that starts with the file has no rules")
	}
}

// An edge that was started with rules of a team, and without others, has a policy also after the
// platform's file has taken the grant away.
func TestPolicyOutlivesItsOwners(t *testing.T) {
	const backends = "backends: [{name: crm, target: 'h:1'}]\n"
	const granting = backends + "include:\n- {file: crm.yaml, owns: {backends: [crm]}, may: [policy]}\n"
	d := newTeams(t, granting, "crm.yaml", "policy: {rules: [{name: x, when: 'true', then: deny}]}\n")
	r, first := d.start()
	for _, without := range []string{backends + "include: []\n", strings.Replace(granting, "may: [policy]", "may: [catalog]", 1)} {
		d.write("edge.yaml", without)
		g := d.read(r, first)
		again, err := g.Renew()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*policy.Policy{g.Policy, again.Policy} {
			if p == nil || p.Filters() {
				t.Errorf("%q: the policy is %+v", without, p)
			}
		}
		d.write("edge.yaml", granting)
		if g = d.read(r, g); g.Policy == nil || !g.Policy.Filters() {
			t.Errorf("after %q the rules are not in force again", without)
		}
	}
}

// Contents have equal digests if they are equal.
func TestContentsWithTheSameDigest(t *testing.T) {
	d := newTeams(t, granted, "teams/crm/a.yaml", goodCRM, "teams/pay.yaml", goodPay)
	r, _ := d.start()
	one := r.Included([]byte(granted))
	if two := r.Included([]byte(granted)); one.Digest() != two.Digest() || one.Digest() != r.TakenIncluded().Digest() {
		t.Error("equal contents have two digests")
	}
	d.write("teams/pay.yaml", goodPay+"\n")
	if r.Included([]byte(granted)).Digest() == one.Digest() {
		t.Error("another content has the same digest")
	}
	if r.Included([]byte("nonsense: 1")) != nil || r.Included([]byte("include: [{file: '../**'}]")) != nil {
		t.Error("files of invalid settings are read")
	}
}
