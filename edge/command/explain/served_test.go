package explain

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog/lock"
	"github.com/mcpedge/mcpedge/edge/catalog/snapshot"
	"github.com/mcpedge/mcpedge/edge/command/commandtest"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// explained explains a policy that hides the tool m0001 and allows everything else. The backend has
// the tools m0000 to m0003.
func explained(t *testing.T, settings string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	var known bytes.Buffer
	definitions := []lock.Definition{lock.Of("one", &pb.Tool{Name: "m0000", Description: "Another."})}
	if err := (&snapshot.Snapshot{Definitions: definitions}).Write(&known); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "edge.yaml")
	for name, text := range map[string]string{
		file: "backends: [{name: one, target: '" + commandtest.Tools(t, "m", 4) + "'}]\n" +
			"policy: {default: allow, rules: [{name: not this, when: 'tool.name == \"m0001\"', then: hide}]}\n" + settings,
		filepath.Join(dir, "catalog.json"): known.String(),
	} {
		if err := os.WriteFile(file[:len(file)-len("edge.yaml")]+filepath.Base(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := Run(t.Context(), append([]string{"explain", "--config", file, "--claims", "{}"}, args...), &out, &out); err != nil {
		return err.Error()
	}
	return out.String()
}

// The explanation of a tool in a set with search says whether it is listed, found by find_tools, or
// neither.
func TestSearchedToolsAreExplained(t *testing.T) {
	set := "sets: {team: {include: {backends: [one]}, search: on, listed: {tools: [m0002]}}}\nroot: team\n"
	for _, args := range [][]string{nil, {"--set", "team"}} {
		lines := strings.Split(explained(t, set, args...), "\n")
		for i, want := range []string{
			"allow, by default  not listed: find_tools finds it, call_tool calls it", "not listed", "allow, by default  listed",
			"allow, by default  not listed: find_tools finds it, call_tool calls it",
		} {
			if i >= len(lines) || !strings.HasSuffix(strings.Join(strings.Fields(lines[i]), " "), strings.Join(strings.Fields(want), " ")) {
				t.Fatalf("%q: line %d is not %q:\n%s", args, i, want, strings.Join(lines, "\n"))
			}
		}
	}
	if out := explained(t, set, "--tool", "m0000"); !strings.Contains(out, "not listed: find_tools finds it, call_tool calls it\norder ") {
		t.Error(out)
	}
	if out := explained(t, set, "--tool", "m0001"); !strings.HasSuffix(out, "  not listed\n") {
		t.Error(out)
	}
}

// The explanation of a tool that no caller sees says what hides it. The tool can be named by its
// own name or by that of the catalog.
func TestHiddenToolsAreExplained(t *testing.T) {
	const block, rest = "catalog-lock: {file: catalog.json, on-difference: block}\n", ": it is unknown to every caller, and no rule decides on it"
	for name, c := range map[string]struct{ settings, tool, want string }{
		"hidden":                {"catalog: {tools: [{backend: one, tool: m0000, hide: true}]}\n", "m0000", `catalog hides "m0000"` + rest},
		"hidden by default":     {"catalog: {default: hide}\n", "m0000", `catalog hides "m0000"` + rest},
		"locked":                {block, "m0000", `policy: "m0000" differs from the catalog-lock: texts, input; it is hidden until the lock has this definition` + rest},
		"new":                   {block, "m0002", `policy: "m0002" is not in the catalog-lock; it is hidden until the lock has this definition` + rest},
		"locked, by its name":   {"catalog: {tools: [{backend: one, tool: m0000, name: other}]}\n" + block, "other", `policy: "other" differs from the catalog-lock: texts, input; it is hidden until the lock has this definition` + rest},
		"hidden, and locked":    {"catalog: {tools: [{backend: one, tool: m0000, hide: true}]}\n" + block, "m0000", `policy: catalog hides "m0000"; "m0000" differs from the catalog-lock: texts, input; it is hidden until the lock has this definition` + rest},
		"an impossible change":  {"catalog: {tools: [{backend: one, tool: m0000, arguments: {nix: {value: 1}}}]}\n", "m0000", `"m0000" is hidden, because the catalog's changes of its arguments are impossible: `},
		"in a set":              {"sets: {team: {include: {backends: [one]}}}\nroot: team\n" + block, "m0000", `"m0000" differs from the catalog-lock`},
		"not in the set":        {"sets: {team: {include: {tools: [m0003]}}}\nroot: team\n", "m0000", `"m0000" is not in the set "team"`},
		"locked, not in a set":  {"sets: {team: {include: {tools: [m0003]}}}\nroot: team\n" + block, "m0000", `"m0000" differs from the catalog-lock`},
		"a lock that only says": {strings.Replace(block, "block", "warn", 1), "m0000", "allow, by default"},
	} {
		if out := explained(t, c.settings, "--tool", c.tool); !strings.Contains(out, c.want) {
			t.Errorf("%s: %s\nwant %s", name, out, c.want)
		}
	}
}
