package config

import (
	"os"
	"path/filepath"
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

const oneBackend = "backends:\n  - {name: crm, target: \"127.0.0.1:1\"}\n"

func TestCatalogIsRead(t *testing.T) {
	c, err := loadText(t, oneBackend+`catalog:
  default: hide
  tools:
    - {backend: crm, tool: "delete_*", hide: true}
    - backend: crm
      tool: find
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
		if o.Tools().Hides("crm", name) != hidden {
			t.Errorf("hides %s: %t", name, !hidden)
		}
	}
	if o.Prompts().Hides("crm", "greet") || !o.Prompts().Hides("crm", "new") {
		t.Error("the prompts are hidden otherwise than said")
	}
	got, _ := o.Tool("crm", &pb.Tool{Name: "find", Annotations: &pb.ToolAnnotations{Title: "Finder"}})
	if a := got.GetAnnotations(); got.GetTitle() != "Find a customer" || !a.GetDestructive() || a.ReadOnly == nil || a.GetReadOnly() || a.OpenWorld != nil || a.GetTitle() != "Find a customer" {
		t.Errorf("find is shown as %v", got)
	}
}

func TestCatalogIsValidated(t *testing.T) {
	for text, want := range map[string]string{
		"{default: no}":                      `catalog.default: "no": use show or hide`,
		"{tools: [{backend: crn, tool: a}]}": `catalog.tools[0]: backend: "crn" is no backend: use the name`,
		"{tools: [{tool: a}]}":               `catalog.tools[0]: backend: it is missing`,
		"{prompts: [{backend: crm}]}":        `catalog.prompts[0]: the name is missing`,
		"{tools: [{backend: crm, tool: a, title: x}, {backend: crm, tool: a, title: y}]}": `catalog.tools[1]: title: it is set for "a" in catalog.tools[0], too: keep one`,
		"{tools: [{backend: crm, tool: a, hyde: true}]}":                                  `hide, under catalog.tools, may be meant`,
		"{tools: [{backend: crm, tool: a, annotations: {readOnlyHint: true}}]}":           `under catalog.tools.annotations there are read-only, destructive, idempotent and open-world`,
		"{prompts: [{backend: crm, prompt: a, annotations: {read-only: true}}]}":          `unknown field "annotations"`,
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
		"{}",
	} {
		if _, err := loadText(t, oneBackend+"catalog: "+text+"\n"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
