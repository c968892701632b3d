package check

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/command/commandtest"
)

// TestCheckReadsFilesOfOwners: check fails for an owner's file that is missing or cannot be used,
// and names its place, even with --offline.
func TestCheckReadsFilesOfOwners(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("edge.yaml", "backends: [{name: crm, target: '"+commandtest.Tools(t, "find", 2)+"'}]\n"+
		"include: [{name: crm-team, file: crm.yaml, owns: {backends: [crm]}, may: [catalog, policy]}]\n")
	for _, c := range []struct {
		text, fault string
		said        []string
	}{
		{"catalog: {tools: [{tool: find0, hide: true}, {tool: nothing, hide: true}]}\npolicy: {rules: [{name: x, when: 'tool.name == \"nothing\"', then: deny}]}\n", "",
			[]string{"crm.yaml:1: catalog.tools[1]: tool: the backend crm lists no tool with the name nothing", `crm.yaml:2: policy: rules[0] x: tool.name: no backend has "nothing"`}},
		{"catalog: {default: hide}\n", "crm.yaml:1: catalog.default: it is the platform's", nil},
		{"", "crm.yaml: it is empty", nil},
		{"-", "crm.yaml: there is no such file", nil},
	} {
		write("crm.yaml", c.text)
		if c.text == "-" {
			if err := os.Remove(filepath.Join(dir, "crm.yaml")); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{nil, {"--offline"}} {
			var out strings.Builder
			err := Run(t.Context(), append(args, "--config", filepath.Join(dir, "edge.yaml")), &out, &out)
			switch {
			case c.fault == "" && err != nil, c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault) || !strings.Contains(err.Error(), `The files of "crm-team" cannot be used`)):
				t.Errorf("%q, %q: %v", args, c.text, err)
			}
			for _, want := range c.said {
				if args == nil && !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in\n%s", want, &out)
				}
			}
		}
	}
}

// TestCheckNamesTheEntryOfTheOwner: each impossible change of an argument is reported with the
// file, the line and the entry. An owner's change of a value that the platform sets has no effect,
// and is a note.
func TestCheckNamesTheEntryOfTheOwner(t *testing.T) {
	dir := t.TempDir()
	backend := capability.New("crm", "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	type in struct {
		Tenant string `json:"tenant"`
		Limit  int    `json:"limit,omitempty"`
	}
	capability.AddTool(backend, "find", "", func(context.Context, *capability.Call, in) (string, error) { return "", nil })
	for name, text := range map[string]string{
		"edge.yaml": "backends: [{name: crm, target: '" + commandtest.Serve(t, backend) + "'}]\n" +
			"catalog:\n  tools:\n    - {backend: crm, tool: find, title: The platform's, arguments: {tenant: {value: acme}}}\n" +
			"include: [{name: crm-team, file: crm.yaml, owns: {backends: [crm]}, may: [catalog]}]\n",
		"crm.yaml": "catalog:\n  tools:\n    - {tool: find, arguments: {limit: {default: five}, nosuch: {description: D.}}}\n" +
			"    - {tool: 'f*', title: The team's, arguments: {tenant: {value: globex}}}\n",
	} {
		text = strings.ReplaceAll(text, "m's", "ms")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	err := Run(t.Context(), []string{"--config", filepath.Join(dir, "edge.yaml")}, &out, &out)
	for _, want := range []string{
		`crm.yaml:3: catalog.tools[0]: arguments: the tool find is hidden, because they cannot be changed: the default of its argument "limit" is string`,
		`crm.yaml:3: catalog.tools[0]: arguments: the tool find is hidden, because they cannot be changed: it has no argument "nosuch"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
	for _, want := range []string{"title", "arguments.tenant.value"} {
		if want = "crm.yaml:4: catalog.tools[1]: " + want + ": it has no effect, since "; !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
}
