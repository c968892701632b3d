package config

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

func TestSetsAreRead(t *testing.T) {
	c, err := loadText(t, oneBackend+`catalog: {tools: [{backend: crm, tool: send, groups: [support]}]}
sets:
  support:
    title: Support
    instructions: Be kind.
    include: {backends: [hr], groups: [support], tools: ["find_*"], resources: ["docs://**"]}
    exclude: {tools: [find_secret]}
    when: '"support" in principal.roles'
    scopes: [support:use]
    accept-root: true
root: support
`)
	if err != nil {
		t.Fatal(err)
	}
	sets, err := c.OpenSets()
	if err != nil {
		t.Fatal(err)
	}
	s, o := sets["support"], c.Overlay()
	for name, want := range map[string]bool{"find_one": true, "find_secret": false, "other": false, "send": true} {
		if s.Has(o, overlay.KindTool, "crm", name) != want {
			t.Errorf("has %s: %t", name, !want)
		}
	}
	if !s.Has(o, overlay.KindPrompt, "hr", "any") || s.Has(o, overlay.KindPrompt, "crm", "any") || !s.Has(o, overlay.KindResource, "crm", "docs://a/b") {
		t.Error("it has other prompts and resources than said")
	}
	if in, _ := s.When.Holds(&mcp.Principal{Roles: []string{"support"}}); !in || !s.Private || !s.AcceptRoot || s.Scopes[0] != "support:use" || s.Title != "Support" {
		t.Errorf("the set is %+v", s)
	}
	if set, served := c.RootSet(); set != "support" || !served {
		t.Errorf("the root is %q, %t", set, served)
	}
}

func TestSearchIsRead(t *testing.T) {
	c, err := loadText(t, oneBackend+`sets:
  a: {include: {tools: ["**"]}, search: on, listed: {tools: [find_*], backends: [hr]}}
  b: {include: {tools: ["**"]}, search: off}
  c: {include: {tools: ["**"]}}
`)
	if err != nil {
		t.Fatal(err)
	}
	sets, err := c.OpenSets()
	if err != nil {
		t.Fatal(err)
	}
	a := sets["a"]
	if !a.Search || sets["b"].Search || sets["c"].Search {
		t.Errorf("search: %t, %t, %t", a.Search, sets["b"].Search, sets["c"].Search)
	}
	if l := &a.Listed; !l.Has(nil, overlay.KindTool, "crm", "find_one") || !l.Has(nil, overlay.KindTool, "hr", "any") || l.Has(nil, overlay.KindTool, "crm", "any") {
		t.Errorf("listed: %+v", l)
	}
	if same := *a.Set; !same.Equal(a.Set) {
		t.Error("a set differs from itself")
	} else if same.Search = false; same.Equal(a.Set) {
		t.Error("search makes no difference")
	}
	if same := *a.Set; same.Equal(a.Set) {
		if same.Listed = (overlay.Selection{}); same.Equal(a.Set) {
			t.Error("what is listed makes no difference")
		}
	}
}

func TestFormsOfSetsAreRead(t *testing.T) {
	c, err := loadText(t, oneBackend+`sets:
  a: {include: {tools: ["**"]}, as-tools: [resources], schemas: portable}
  b: {include: {tools: ["**"]}, as-tools: []}
  c: {include: {tools: ["**"]}}
`)
	if err != nil {
		t.Fatal(err)
	}
	sets, err := c.OpenSets()
	if err != nil {
		t.Fatal(err)
	}
	a := sets["a"]
	if !a.ResourceTools || sets["b"].ResourceTools || sets["c"].ResourceTools {
		t.Errorf("as-tools: %t, %t, %t", a.ResourceTools, sets["b"].ResourceTools, sets["c"].ResourceTools)
	}
	if same := *a.Set; !same.Equal(a.Set) {
		t.Error("a set differs from itself")
	} else if same.ResourceTools = false; same.Equal(a.Set) {
		t.Error("as-tools makes no difference")
	}
	if same := *a.Set; same.Schemas != overlay.SchemasPortable || sets["b"].Schemas != "" {
		t.Errorf("schemas: %q and %q", same.Schemas, sets["b"].Schemas)
	} else if same.Schemas = overlay.SchemasFull; same.Equal(a.Set) {
		t.Error("schemas make no difference")
	}
}

func TestInvalidSets(t *testing.T) {
	for text, want := range map[string]string{
		"sets: {Support: {include: {tools: [a]}}}":                               `sets: "Support" is not a name of a set`,
		"sets: {" + strings.Repeat("a", 64) + ": {include: {tools: [a]}}}":       "is not a name of a set",
		"sets: {all: {include: {tools: [a]}}}":                                   "sets.all: it is a value of root",
		"sets: {a: {title: A}}":                                                  "sets.a: include: it is missing",
		"sets:\n  a:\n    include: {backends: [nix]}\n":                          `5: sets.a.include.backends: "nix" is not a backend`,
		"sets:\n  a:\n    include: {tools: [a]}\n    when: ''\n":                 "6: sets.a.when: ",
		"sets:\n  a:\n    include: {tools: [a]}\n    when: tool.name\n":          "6: sets.a.when: it is not a valid expression",
		"sets: {a: {include: {groups: [g]}}}":                                    `no entry of the catalog has the group "g"`,
		"sets: {a: {include: {tools: ['']}}}":                                    "an entry is empty",
		"sets: {a: {include: {tools: [a]}, scopes: ['a b']}}":                    "sets.a.scopes",
		"sets: {a: {include: {tools: [a]}, whem: x}}":                            "whem",
		"sets:\n  a:\n    include: {tools: [a]}\n    search: yes\n":              `6: sets.a.search: "yes" is not off or on`,
		"sets: {a: {include: {tools: [a]}, listed: {tools: [a]}}}":               "sets.a.listed: the set lists all its tools",
		"sets: {a: {include: {tools: [a]}, search: on, listed: {groups: [g]}}}":  `sets.a.listed.groups: no entry of the catalog has the group "g"`,
		"sets: {a: {search: on, listed: {tools: [a]}}}":                          "sets.a: include: it is missing",
		"sets: {a: {include: {tools: [a]}, search: on, listed: {prompts: [a]}}}": "prompts",
		"sets:\n  a:\n    include: {tools: [a]}\n    as-tools: [prompts]\n":      `6: sets.a.as-tools: "prompts" cannot be tools: write [resources]`,
		"sets: {a: {include: {tools: [a]}, as-tools: ['']}}":                     `sets.a.as-tools: "" cannot be tools`,
		"sets:\n  a:\n    include: {tools: [a]}\n    schemas: short\n":           `6: sets.a.schemas: "short": use auto, portable or full`,
		"sets: {a: {as-tools: [resources]}}":                                     "sets.a: include: it is missing",
		"root: nix":                                                              `root: "nix" is not a set`,
	} {
		if _, err := loadText(t, oneBackend+text+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := Load(stdio, []string{"--set", "nix"}, func(string) (string, bool) { return "", false }, nil); err == nil || !strings.Contains(err.Error(), `--set: "nix" is not a set`) && !strings.Contains(err.Error(), `"nix" is not a set`) {
		t.Errorf("--set: %v", err)
	}
}
