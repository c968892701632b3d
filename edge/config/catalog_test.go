package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func loadText(t *testing.T, text string) (Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "edge.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(check, []string{"--config", file}, func(string) (string, bool) { return "", false }, nil)
}

const oneBackend = "backends: [{name: hr, target: \"127.0.0.1:2\", prefix: hr_},\n  {name: crm, target: \"127.0.0.1:1\"}]\n"

func TestCatalogIsRead(t *testing.T) {
	c, err := loadText(t, oneBackend+`catalog:
  default: hide
  tools:
    - {backend: crm, tool: "delete_*", hide: true}
    - backend: crm
      tool: find
      name: find_customer
      aliases: [search]
      title: Find a customer
      description: Finds customers by name or number.
      annotations: {destructive: true, read-only: false}
  prompts:
    - {backend: crm, prompt: greet}
`)
	if err != nil {
		t.Fatal(err)
	}
	o := c.Overlay()
	for name, hidden := range map[string]bool{"delete_user": true, "new": true, "find": false} {
		if o.Tools().Of("crm", name).Hide != hidden {
			t.Errorf("hides %s: %t", name, !hidden)
		}
	}
	if o.Prompts().Of("crm", "greet").Hide || !o.Prompts().Of("crm", "new").Hide {
		t.Error("the prompts are hidden otherwise than said")
	}
	find := o.Tools().Of("crm", "find")
	got, _ := find.Tool(&pb.Tool{Name: "find", Annotations: &pb.ToolAnnotations{Title: "Finder"}})
	if !slices.Equal(find.Given(), []string{"find_customer", "search"}) {
		t.Errorf("find has the names %q", find.Given())
	}
	if a := got.GetAnnotations(); got.GetTitle() != "Find a customer" || !a.GetDestructive() || a.ReadOnly == nil || a.GetReadOnly() || a.OpenWorld != nil || a.GetTitle() != "Find a customer" {
		t.Errorf("find is shown as %v", got)
	}
}

func TestCatalogIsValidated(t *testing.T) {
	for text, want := range map[string]string{
		"{default: no}":                                           `catalog.default: "no": use show or hide`,
		"{tools: [{backend: crn, tool: a}]}":                      `catalog.tools[0]: backend: "crn" is not a backend: use the name`,
		"{tools: [{tool: a}]}":                                    `catalog.tools[0]: backend: it is missing`,
		`{tools: [{backend: crm, tool: a, aliases: [hr_b]}]}`:     `catalog.tools[0]: name: "hr_b" begins with the prefix "hr_" of the backend "hr"`,
		"{resources: [{backend: crm}]}":                           `catalog.resources[0]: resource: it is missing`,
		"{resources: [{backend: crm, resource: 'x:1', name: y}]}": `unknown field "name"`,
		"{resources: [{backend: crm, resource: 'x:1', title: a}, {backend: crm, resource: 'x:1', title: b}]}": `catalog.resources[1]: title: it is set for "x:1" in catalog.resources[0], too: keep one`,
		"{prompts: [{backend: crm}]}": `catalog.prompts[0]: prompt: it is missing`,
		"{tools: [{backend: crm, tool: a, title: x}, {backend: crm, tool: a, title: y}]}":                                                               `catalog.tools[1]: title: it is set for "a" in catalog.tools[0], too: keep one`,
		`{tools: [{backend: crm, tool: "a*", name: b}]}`:                                                                                                `catalog.tools[0]: name: "a*" may match several tools: an entry with a name or aliases names one`,
		`{tools: [{backend: crm, tool: a, aliases: [b c]}]}`:                                                                                            `catalog.tools[0]: aliases: "b c" is not a name of a tool: use at most 128 letters, digits, dots, _ and -`,
		`{tools: [{backend: crm, tool: a, name: b}, {backend: crm, tool: c, aliases: [b]}]}`:                                                            `catalog.tools[1]: aliases: "b" is given to "a" in catalog.tools[0]: keep one`,
		`{tools: [{backend: crm, tool: a, aliases: [b, b]}]}`:                                                                                           `catalog.tools[0]: aliases: "b" is there twice: keep one`,
		`{tools: [{backend: crm, tool: a, arguments: {t: {value: x, from: principal.subject}}}]}`:                                                       `catalog.tools[0]: arguments.t: give value or from, not both`,
		`{tools: [{backend: crm, tool: a, arguments: {t: {value: x, description: y}}}]}`:                                                                `catalog.tools[0]: arguments.t: a pinned argument is not shown`,
		`{tools: [{backend: crm, tool: a, arguments: {t: {from: "principal.nothing"}}}]}`:                                                               `catalog.tools[0]: arguments.t: from: `,
		`{tools: [{backend: crm, tool: a, arguments: {t: {value: x, mode: try}}}]}`:                                                                     `catalog.tools[0]: arguments.t: mode: "try": use enforce or audit`,
		`{tools: [{backend: crm, tool: a, arguments: {t: {default: x, mode: audit}}}]}`:                                                                 `catalog.tools[0]: arguments.t: mode: only a pinned argument has a mode`,
		`{tools: [{backend: crm, tool: a, arguments: {t: {value: x, default: y, mode: audit}}}]}`:                                                       `catalog.tools[0]: arguments.t: a pinned argument is not shown`,
		`{tools: [{backend: crm, tool: a, mode: audit, hide: true}]}`:                                                                                   `mode belongs under catalog.tools.arguments`,
		`{tools: [{backend: crm, tool: a, arguments: {t: {value: 1, mode: audit}}}, {backend: crm, tool: a, arguments: {t: {value: 2, mode: audit}}}]}`: `catalog.tools[1]: arguments.t.value (mode: audit): it is set for "a" in catalog.tools[0], too: keep one`,
		`{tools: [{backend: crm, tool: a, arguments: {t: {}}}]}`:                                                                                        `catalog.tools[0]: arguments.t: nothing is set`,
		`{resources: [{backend: crm, resource: "a:{t}", variables: {t: {value: 7}}}]}`:                                                                  `catalog.resources[0]: variables.t: value: variables of templates are texts`,
		`{resources: [{backend: crm, resource: "a:{t}", variables: {t: {value: ..}}}]}`:                                                                 `catalog.resources[0]: variables.t: value: ".." is no value`,
		`{resources: [{backend: crm, resource: "a:{t}", variables: {t: {}}}]}`:                                                                          `catalog.resources[0]: variables.t: nothing is set`,
		`{resources: [{backend: crm, resource: "a:{t}", variables: {t: {value: x, from: principal.subject}}}]}`:                                         `catalog.resources[0]: variables.t: give value or from, not both`,
		`{resources: [{backend: crm, resource: "a:{t}", variables: {t: {from: "principal.nothing"}}}]}`:                                                 `catalog.resources[0]: variables.t: from: `,
		`{resources: [{backend: crm, resource: "a:{t}", variables: {t: {value: x}}}, {backend: crm, resource: "a:{t}", variables: {t: {value: y}}}]}`:   `catalog.resources[1]: variables.t: it is set for "a:{t}" in catalog.resources[0], too: keep one`,
		`{prompts: [{backend: crm, prompt: a, arguments: {t: {value: 7}}}]}`:                                                                            `catalog.prompts[0]: arguments.t: value: arguments of prompts are texts`,
		`{tools: [{backend: crm, tool: a, arguments: {t: {value: 1}}}, {backend: crm, tool: a, arguments: {t: {value: 2}}}]}`:                           `catalog.tools[1]: arguments.t.value: it is set for "a" in catalog.tools[0], too: keep one`,
		"{tools: [{backend: crm, tool: a, hyde: true}]}":                                                                                                `hide, under catalog.tools, may be meant`,
		"{tools: [{backend: crm, tool: a, annotations: {readOnlyHint: true}}]}":                                                                         `under catalog.tools.annotations there are read-only, destructive, idempotent and open-world`,
		"{prompts: [{backend: crm, prompt: a, annotations: {read-only: true}}]}":                                                                        `unknown field "annotations"`,
	} {
		_, err := loadText(t, oneBackend+"catalog: "+text+"\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		} else if !strings.Contains(err.Error(), "edge.yaml:3") && !strings.Contains(err.Error(), "[3:") {
			t.Errorf("%s: %v, which names no line", text, err)
		}
	}
	for _, text := range []string{
		"{tools: [{backend: crm, tool: a, hide: true}, {backend: crm, tool: a, hide: true, title: x}]}",
		"{tools: [{backend: crm, tool: a, title: x}, {backend: crm, tool: \"*\", title: y}]}",
		"{tools: [{backend: crm, tool: a, name: b}, {backend: crm, tool: b, name: a}], prompts: [{backend: crm, prompt: x, name: b}]}",
		"{resources: [{backend: crm, resource: 'x://{id}', hide: true}]}",
		"{}",
	} {
		if _, err := loadText(t, oneBackend+"catalog: "+text+"\n"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
