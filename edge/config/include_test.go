package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// granted are settings of a platform with two teams.
const granted = `
backends:
  - {name: crm, target: 'h:1', prefix: crm_, claims: [tenant]}
  - {name: pay, target: 'h:2', prefix: pay_}
  - {name: legacy, target: 'h:3', kind: reflect}
policy: {default: allow, rules: [{name: team/taken, when: 'false', then: deny}]}
catalog: {tools: [{backend: crm, tool: other, name: crm_given}]}
include:
  - {name: team, file: teams/crm/*.yaml, owns: {backends: [crm], prefixes: [crm_]}, may: [catalog, policy]}
  - {name: money, file: teams/pay.yaml, owns: {backends: [pay, legacy]}, may: [catalog]}
`

// teams is a directory with settings and the files that they include.
type teams struct {
	t   *testing.T
	dir string
}

func newTeams(t *testing.T, settings string, files ...string) *teams {
	d := &teams{t, t.TempDir()}
	d.write("edge.yaml", settings)
	for i := 0; i < len(files); i += 2 {
		d.write(files[i], files[i+1])
	}
	return d
}

func (d *teams) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *teams) write(name, text string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *teams) remove(name string) {
	d.t.Helper()
	if err := os.RemoveAll(d.path(name)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *teams) load() Config {
	d.t.Helper()
	cfg, err := Load(serve, []string{"--config", d.path("edge.yaml")}, env(nil), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return cfg
}

// read returns the next generation, after the files have changed.
func (d *teams) read(r *Reader, in *Generation) *Generation {
	d.t.Helper()
	raw, err := os.ReadFile(d.path("edge.yaml"))
	if err != nil {
		d.t.Fatal(err)
	}
	g, err := r.Read(raw, r.Included(raw), in)
	if err != nil {
		d.t.Fatal(err)
	}
	return g
}

func (d *teams) start() (*Reader, *Generation) {
	d.t.Helper()
	cfg := d.load()
	r := NewReader(&cfg)
	g, err := r.First()
	if err != nil {
		d.t.Fatal(err)
	}
	return r, g
}

const (
	goodCRM = "catalog: {tools: [{tool: find, name: crm_find_customer, title: Find}, {tool: 'delete_*', hide: true}]}\npolicy: {rules: [{name: eu, when: 'principal.anonymous', then: deny}]}\n"
	goodPay = "catalog: {tools: [{backend: pay, tool: refund, hide: true}]}\n"
)

// wantStates fails unless the owners have these states, and says their errors.
func wantStates(t *testing.T, what string, cfg *Config, states ...OwnerState) {
	t.Helper()
	for i, o := range cfg.Owners() {
		if o.State != states[i] || (o.Err == nil) != (o.State == OwnerInForce) || (o.Digest == "") != (o.State == OwnerHidden) {
			t.Errorf("%s: %q is %s, want %s: digest %q, %v", what, o.Name, o.State, states[i], o.Digest, o.Err)
		}
	}
}

// The files of the teams add to the platform's settings, whose fields come first.
func TestTeamsAddToTheCatalog(t *testing.T) {
	d := newTeams(t, strings.Replace(granted, "tools: [", "tools: [{backend: crm, tool: find, title: The platform's, arguments: {tenant: {from: principal.claims.tenant}}}, ", 1),
		"teams/crm/b.yaml", "catalog: {tools: [{tool: find, description: From b, arguments: {tenant: {default: evil}, n: {value: 1}}}]}\n",
		"teams/crm/a.yaml", goodCRM, "teams/pay.yaml", goodPay,
		"teams/crm/.#a.yaml", "nonsense", "teams/crm/a.yaml~", "nonsense", "teams/crm/#a.yaml#", "nonsense", "teams/crm/..data/x.yaml", "nonsense", "teams/crm/.a.yaml.swp", "x", "teams/crm/a.txt", "x")
	cfg := d.load()
	wantStates(t, "good files", &cfg, OwnerInForce, OwnerInForce)
	if files := cfg.Owners()[0].Files; len(files) != 2 || !strings.HasSuffix(files[0], "a.yaml") || !strings.HasSuffix(files[1], "b.yaml") {
		t.Errorf("the files are %q", files)
	}
	o := cfg.Overlay()
	e := o.Tools().Of("crm", "find")
	if e.Title != "The platform's" || e.Name != "crm_find_customer" || e.Description != "From b" {
		t.Errorf("the entry is %+v", e)
	}
	if len(e.Arguments) != 2 || e.Arguments[0].Pin == nil || e.Arguments[0].Pin.String() != "principal.claims.tenant" || e.Arguments[1].Pin == nil {
		t.Errorf("the arguments are %+v", e.Arguments)
	}
	if !o.Tools().Of("crm", "delete_all").Hide || o.Tools().Of("crm", "list").Hide || !o.Tools().Of("pay", "refund").Hide || o.Tools().Of("pay", "delete_all").Hide {
		t.Error("another tool is hidden")
	}
	p, err := cfg.CompilePolicy()
	if err != nil {
		t.Fatal(err)
	}
	for backend, want := range map[string]policy.Effect{"crm": policy.Deny, "pay": policy.Allow} {
		if got, _ := p.Explain(new(mcp.Principal), &policy.Target{Kind: policy.Tool, Name: "x", Backend: backend}, nil); got.Effect != want {
			t.Errorf("%s: %+v", backend, got)
		}
	}
}

// Each file of a team that takes more than its grant is refused as a whole, with file, line and key,
// and it alone: at a start, its backend is hidden.
func TestMaliciousTeamFiles(t *testing.T) {
	entry := func(text string) string { return "catalog:\n  tools:\n  - {" + text + "}\n" }
	rule := func(text string) string { return "policy:\n  rules:\n  - {" + text + "}\n" }
	for name, c := range map[string]struct{ file, line, want string }{
		"another backend":             {entry("backend: pay, tool: x, hide: true"), "3", `catalog.tools[0]: backend: "pay" is not the owner's`},
		"a pattern of backends":       {entry("backend: '*', tool: x, hide: true"), "3", `catalog.tools[0]: backend: "*" is not the owner's`},
		"a part of a backend":         {entry("backend: 'c*', tool: x, hide: true"), "3", `backend: "c*" is not the owner's`},
		"another case":                {entry("backend: CRM, tool: x"), "3", `backend: "CRM" is not the owner's`},
		"a prompt of another backend": {"catalog:\n  prompts:\n  - {backend: pay, prompt: x, hide: true}\n", "3", `catalog.prompts[0]: backend: "pay"`},
		"a resource of another":       {"catalog:\n  resources:\n  - {backend: pay, resource: '**', hide: true}\n", "3", `catalog.resources[0]: backend: "pay"`},
		"a name beyond its prefixes":  {entry("tool: x, name: pay_refund"), "3", `catalog.tools[0]: name: "pay_refund" does not begin with a prefix of the grant "team": "crm_"`},
		"an alias beyond":             {entry("tool: x, aliases: [crm_x, pay_refund]"), "3", `catalog.tools[0]: aliases: "pay_refund" does not begin`},
		"a name in another case":      {entry("tool: x, name: CRM_x"), "3", `name: "CRM_x" does not begin`},
		"a name of the platform":      {entry("tool: y, name: crm_given"), "3", `catalog.tools[0]: name: "crm_given" is given to "other"`},
		"an alias of the platform":    {entry("tool: y, aliases: [crm_given]"), "3", `"crm_given" is given to "other"`},
		"an invalid name":             {entry("tool: x, name: 'crm_a b'"), "3", `is not a name of a tool`},
		"a costly pattern":            {entry("tool: '" + strings.Repeat("**a", 9) + "', hide: true"), "3", `catalog.tools[0]: the pattern has 18 stars`},
		"a group":                     {entry("tool: x, groups: [support]"), "3", `catalog.tools[0]: groups: the platform's file puts`},
		"a name for a pattern":        {entry("tool: '*', name: crm_all"), "3", "may match several tools"},
		"default":                     {"catalog:\n  default: show\n", "2", "catalog.default: it is the platform's"},
		"an allow rule":               {rule("name: x, when: 'true', then: allow"), "3", `policy.rules[0] x: then: "allow" is the platform's`},
		"an unknown effect":           {rule("name: x, when: 'true', then: Allow"), "3", `policy.rules[0] x: then: "Allow"`},
		"no effect":                   {rule("name: x, when: 'true'"), "3", `policy.rules[0] x: then: ""`},
		"a policy default":            {"policy:\n  default: allow\n", "2", "policy.default: it is the platform's"},
		"an external server":          {"policy:\n  external: {target: 'evil:1'}\n", "2", "policy.external: it is the platform's"},
		"a hierarchy":                 {"policy:\n  hierarchy: {none: [admin]}\n", "2", "policy.hierarchy: it is the platform's"},
		"lists":                       {"policy:\n  lists: obtainable\n", "2", "policy.lists: it is the platform's"},
		"a rule of the platform":      {rule("name: taken, when: 'true', then: deny"), "", `"team/taken" is that of another rule`},
		"a rule in another's name":    {rule("name: money/x, when: 'true', then: deny"), "3", "use a name without a slash"},
		"a rule twice":                {rule("name: x, when: 'true', then: deny}\n  - {name: x, when: 'true', then: hide"), "4", `policy.rules[1]: name: "x" is used twice`},
		"an invalid condition":        {rule("name: x, when: 'secret', then: deny"), "3", "policy.rules[0] x: when"},
		"an invalid scope":            {"policy:\n  scopes:\n  - {need: ['a b']}\n", "3", "policy.scopes[0]: need"},
		"backends":                    {"backends:\n- {name: crm, target: 'evil:1'}\n", "1", "backends: it is the platform's"},
		"auth":                        {"catalog: {}\nauth: {optional: true}\n", "2", "auth: it is the platform's"},
		"credentials":                 {"catalog: {}\nadmin: {auth: {scope: x}}\n", "2", "admin: it is the platform's"},
		"state keys":                  {"catalog: {}\nredis: {seal-keys: [AAAA]}\n", "2", "redis: it is the platform's"},
		"a file":                      {"catalog: {}\naudit: {file: /tmp/x}\n", "2", "audit: it is the platform's"},
		"identity":                    {"catalog: {}\nserver: {signing-key: /etc/passwd}\n", "2", "server: it is the platform's"},
		"quotas":                      {"catalog: {}\nquotas: [{per: tool, rate: 1000/s}]\n", "2", "quotas: it is the platform's"},
		"hooks":                       {"catalog: {}\nhooks: [{name: x, target: 'evil:1', on: [request]}]\n", "2", "hooks: it is the platform's"},
		"an include of its own":       {"catalog: {}\ninclude: [{file: x, owns: {backends: [pay]}, may: [catalog]}]\n", "2", "include: it is the platform's"},
		"limits":                      {"catalog: {}\nlisten: {body: 1GiB}\n", "2", "listen: it is the platform's"},
		"a misspelled key":            {entry("tool: x, hid: true"), "3", "hide, under catalog.tools, may be meant"},
		"an anchor":                   {"catalog: &a\n  tools: []\n", "1", "an anchor, an alias or a merge key"},
		"an alias":                    {"catalog:\n  tools: [*a]\n", "2", "an anchor, an alias or a merge key"},
		"a merge key":                 {"catalog:\n  <<: {default: show}\n", "2", "an anchor, an alias or a merge key"},
		"a tag":                       {"catalog:\n  tools: !!seq []\n", "2", "a tag or a directive"},
		"a directive":                 {"%YAML 1.1\n---\ncatalog: {}\n", "1", "a tag or a directive"},
		"a key twice":                 {"catalog: {}\ncatalog:\n  tools: []\n", "2", "already defined"},
		"a key of an entry twice":     {entry("backend: crm, tool: x, hide: true, hide: false"), "3", "already defined"},
		"an argument twice":           {entry("tool: x, arguments: {n: {value: 1}, n: {default: 2}}"), "3", "already defined"},
		"a second document":           {"catalog: {}\n---\ncatalog: {}\n", "3", "a second document begins here"},
		"deep lists":                  {"catalog: " + strings.Repeat("[", 100_000), "1", "nested deeper"},
		"deep sections":               {"catalog:\n  tools: " + strings.Repeat("{a: ", 50_000), "2", "nested deeper"},
		"deep entries":                {"catalog:\n  tools:\n  " + strings.Repeat("- ", 100_000) + "x\n", "3", "nested deeper"},
		"a huge file":                 {"catalog: {}\n" + strings.Repeat("# a comment\n", 30_000), "", "it is larger than 256KiB"},
		"a claim":                     {entry("tool: x, arguments: {n: {from: principal.claims.email}}"), "3", `catalog.tools[0]: arguments.n: from: the backend "crm" does not receive principal.claims.email`},
		"all claims":                  {entry("tool: x, arguments: {n: {from: 'string(principal.claims)'}}"), "3", "arguments.n: from"},
		"a claim for a prompt":        {"catalog:\n  prompts:\n  - {prompt: x, arguments: {n: {from: principal.claims.email}}}\n", "3", "does not receive principal.claims.email"},
		"a pin and a default":         {entry("tool: x, arguments: {n: {value: 1, default: 2}}"), "3", "arguments.n: a pinned argument is not shown"},
		"a field twice":               {entry("tool: x, title: a}\n  - {tool: x, title: b"), "4", `catalog.tools[1]: title: it is set for "x" in`},
		"no tool":                     {entry("hide: true"), "3", "catalog.tools[0]: tool: it is missing"},
		"a list":                      {"- catalog\n", "1", "section"},
		"a text":                      {"catalog: yes please\n", "1", "catalog"},
		"a truncated file":            {"catalog:\n  tools:\n  - {tool: x, hi", "3", ""},
		"nothing":                     {"", "", "it is empty"},
		"a comment":                   {"# catalog: {}\n", "", "it is empty"},
		"null":                        {"catalog:\n", "1", "catalog: it has no value"},
		"bytes":                       {"catalog: {}\n\x00\xff\xfe", "", ""},
		"many rules":                  {"policy:\n  scopes:\n" + strings.Repeat("  - {need: [a]}\n", maxIncludedRules+1), "", "have at most"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTeams(t, granted, "teams/crm/a.yaml", c.file, "teams/pay.yaml", goodPay)
			cfg := d.load()
			wantStates(t, "at a start", &cfg, OwnerHidden, OwnerInForce)
			err := cfg.Owners()[0].Err
			if err == nil {
				t.Fatal("it is accepted")
			}
			place := d.path("teams/crm/a.yaml")
			if c.line != "" {
				place += ":" + c.line
			}
			placed := strings.Contains(err.Error(), place) || c.line != "" && strings.Contains(err.Error(), "["+c.line+":") && strings.Contains(err.Error(), d.path("teams/crm/a.yaml"))
			if c.want == `"team/taken" is that of another rule` || name == "many rules" {
				placed = strings.Contains(err.Error(), "teams/crm/*.yaml")
			}
			if !placed || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v\nwant %s and %s", err, place, c.want)
			}
			if o := cfg.Overlay(); !o.Tools().Of("crm", "find").Hide || !o.Prompts().Of("crm", "x").Hide || !o.Tools().Of("pay", "refund").Hide || o.Tools().Of("pay", "pay").Hide {
				t.Error("the backend of a broken file is not hidden, or another one is")
			}
		})
	}
}

// Grants of the platform that would give one thing to two owners, or to no owner, are mistakes.
func TestGrantsAreChecked(t *testing.T) {
	const backends = "backends: [{name: a, target: 'h:1', prefix: a_}, {name: b, target: 'h:2'}]\ninclude:\n"
	for grants, want := range map[string]string{
		"- {file: x.yaml, owns: {backends: [c]}, may: [catalog]}\n":                                                                                  `:3: include[0]: owns: backends: "c" is not a backend`,
		"- {file: x.yaml, owns: {backends: ['*']}, may: [catalog]}\n":                                                                                `:3: include[0]: owns: backends: "*" is not a name`,
		"- {file: x.yaml, owns: {backends: [a, a]}, may: [catalog]}\n":                                                                               `"a" is there twice`,
		"- {file: x.yaml, owns: {backends: []}, may: [catalog]}\n":                                                                                   "backends: it is missing",
		"- {file: x.yaml, may: [catalog]}\n":                                                                                                         "backends: it is missing",
		"- {file: x.yaml, owns: {backends: [a]}}\n":                                                                                                  "may: it is missing",
		"- {file: x.yaml, owns: {backends: [a]}, may: [backends]}\n":                                                                                 `may: "backends": use catalog, policy and sets`,
		"- {file: x.yaml, owns: {backends: [a]}, may: [sets]}\n":                                                                                     "owns: sets: it is missing",
		"- {file: x.yaml, owns: {backends: [a], sets: [a]}, may: [catalog]}\n":                                                                       "owns: sets: may does not have sets",
		"- {file: x.yaml, owns: {backends: [a], sets: ['a*b']}, may: [sets]}\n":                                                                      `owns: sets: "a*b": write the name`,
		"- {file: x.yaml, owns: {backends: [a], sets: [a*]}, may: [sets]}\n- {file: y.yaml, owns: {backends: [b], sets: [ab]}, may: [sets]}\n":       `owns: sets: "ab" and "a*" of include[0] overlap`,
		"- {file: x.yaml, owns: {backends: [a], sets: [a*]}, may: [sets]}\nsets: {ab: {include: {tools: [x]}}}\n":                                    `owns: sets: "a*" matches the set "ab"`,
		"- {owns: {backends: [a]}, may: [catalog]}\n":                                                                                                "it is not a file",
		"- {file: teams/, owns: {backends: [a]}, may: [catalog]}\n":                                                                                  "it is not a file",
		"- {file: 'teams/*/../../secret', owns: {backends: [a]}, may: [catalog]}\n":                                                                  "leaves a directory that a pattern has matched",
		"- {file: 'teams/**/x.yaml', owns: {backends: [a]}, may: [catalog]}\n":                                                                       "** is not read",
		"- {file: 'teams/[.yaml', owns: {backends: [a]}, may: [catalog]}\n":                                                                          "it is not a pattern",
		"- {file: x.yaml, owns: {backends: [a], prefixes: ['']}, may: [catalog]}\n":                                                                  `prefixes: ""`,
		"- {file: x.yaml, owns: {backends: [b], prefixes: [a_]}, may: [catalog]}\n":                                                                  `prefixes: "a_" overlaps with the prefix "a_" of the backend "a"`,
		"- {file: x.yaml, owns: {backends: [a]}, may: [catalog]}\n- {file: y.yaml, owns: {backends: [a]}, may: [catalog]}\n":                         `:4: include[1]: owns: backends: "a" belongs to include[0], too`,
		"- {file: x.yaml, owns: {backends: [a]}, may: [catalog]}\n- {file: x.yaml, owns: {backends: [b]}, may: [catalog]}\n":                         `name: "x.yaml" is that of include[0]`,
		"- {file: x, owns: {backends: [a], prefixes: [x_]}, may: [catalog]}\n- {file: y, owns: {backends: [b], prefixes: [x_y_]}, may: [catalog]}\n": `prefixes: "x_y_" and "x_" of include[0] overlap`,
		"- {name: \"a\\tb\", file: x.yaml, owns: {backends: [a]}, may: [catalog]}\n":                                                                 "characters that can be printed",
		"- {file: x.yaml, owns: {backends: [a]}, may: [catalog], policy: {}}\n":                                                                      "policy",
	} {
		d := newTeams(t, backends+grants)
		_, err := Load(serve, []string{"--config", d.path("edge.yaml")}, env(nil), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", grants, err, want)
		}
	}
}

// What is no readable file below the directory of its pattern is refused.
func TestFilesThatAreNone(t *testing.T) {
	d := newTeams(t, granted, "teams/pay.yaml", goodPay, "secret.yaml", goodCRM, "elsewhere/x", "x")
	link := func(to, name string) {
		t.Helper()
		d.write("teams/crm/keep.txt", "")
		if err := os.Symlink(to, d.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"../../secret.yaml": "path escapes from parent", d.path("secret.yaml"): "path escapes from parent", d.path("teams/crm/keep.txt"): "path escapes from parent", "nowhere": "no such file", "a.yaml": "too many"} {
		link(name, "teams/crm/a.yaml")
		cfg := d.load()
		if wantStates(t, name, &cfg, OwnerHidden, OwnerInForce); !strings.Contains(fmt.Sprint(cfg.Owners()[0].Err), want) {
			t.Errorf("%s: %v, want %s", name, cfg.Owners()[0].Err, want)
		}
		d.remove("teams/crm/a.yaml")
	}
	// The layout of a ConfigMap.
	d.write("teams/crm/..2026_01/a.yaml", goodCRM)
	link("..2026_01", "teams/crm/..data")
	link("..data/a.yaml", "teams/crm/a.yaml")
	cfg := d.load()
	wantStates(t, "a ConfigMap", &cfg, OwnerInForce, OwnerInForce)
	d.remove("teams/crm/..data")
	cfg = d.load()
	wantStates(t, "a ConfigMap that is half mounted", &cfg, OwnerHidden, OwnerInForce)
	// A directory in the place of a file.
	d.remove("teams/pay.yaml")
	d.write("teams/pay.yaml/x", "x")
	cfg = d.load()
	if wantStates(t, "a directory", &cfg, OwnerHidden, OwnerHidden); !strings.Contains(fmt.Sprint(cfg.Owners()[1].Err), "it is not a regular file") {
		t.Errorf("a directory: %v", cfg.Owners()[1].Err)
	}
	if err := cfg.Unusable(); err == nil || !strings.Contains(err.Error(), `The files of "money" cannot be used: its backends are hidden`) {
		t.Errorf("unusable: %v", err)
	}
}
