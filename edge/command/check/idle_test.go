package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/command/commandtest"
)

// An entry that is meant to restrict a tool, but has a name that only clients see, is an error,
// because the tool is served unrestricted. Any other entry without a match, and a difference from
// the lock, is a note, which --strict makes an error.
func TestEntriesThatRestrictNothing(t *testing.T) {
	dir := t.TempDir()
	settings := "backends: [{name: big, target: '" + commandtest.Tools(t, "m", 2) + "', prefix: cloud_}]\n"
	for text, want := range map[string]struct{ fault, note string }{
		"catalog: {tools: [{backend: big, tool: cloud_m0001, hide: true}]}":                                                                {"edge.yaml:2: catalog.tools[0]: tool: the backend big lists no tool with the name cloud_m0001; write it without the prefix: m0001", ""},
		"catalog: {tools: [{backend: big, tool: cloud_m0001, arguments: {a: {value: 1}}}]}":                                                {"write it without the prefix: m0001", ""},
		"catalog: {tools: [{backend: big, tool: cloud_m0001, annotations: {read-only: false}}]}":                                           {"write it without the prefix: m0001", ""},
		"sets: {s: {include: {tools: [cloud_m*]}}}":                                                                                        {`edge.yaml:2: sets.s.include.tools: no backend lists the tool "cloud_m*"; write it without the prefix: m*`, ""},
		"sets: {s: {include: {backends: [big]}, exclude: {tools: [cloud_m0000]}}}":                                                         {"write it without the prefix: m0000", ""},
		"sets: {s: {include: {backends: [big]}, exclude: {tools: [shown]}}}\ncatalog: {tools: [{backend: big, tool: m0000, name: shown}]}": {`the catalog gives this name to "m0000": write m0000`, ""},
		"catalog: {tools: [{backend: big, tool: delete_*, hide: true}]}":                                                                   {"", "lists no tool with the name delete_*"},
		"catalog: {tools: [{backend: big, tool: cloud_m0001, title: T}]}":                                                                  {"", "write it without the prefix: m0001"},
		"catalog-lock: {file: lock.json}":                                                                                                  {"", `catalog-lock: the backend "big" has tools that differ from the lock, above: review them with mcpedge catalog diff --lock`},
	} {
		for name, content := range map[string]string{"edge.yaml": settings + text + "\n", "lock.json": `{"definitions":[]}`} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		err := Run(t.Context(), []string{"--config", filepath.Join(dir, "edge.yaml")}, &out, &out)
		switch {
		case want.fault != "" && (err == nil || !strings.Contains(err.Error(), want.fault)):
			t.Errorf("%s: %v, want %q\n%s", text, err, want.fault, &out)
		case want.fault == "" && (err != nil || !strings.Contains(out.String(), want.note)):
			t.Errorf("%s: %v, want the note %q\n%s", text, err, want.note, &out)
		}
		if err := Run(t.Context(), []string{"--strict", "--config", filepath.Join(dir, "edge.yaml")}, &out, &out); err == nil {
			t.Errorf("%s: --strict takes it", text)
		}
	}
}

// Information that is not a mistake is not a note: --strict accepts it.
func TestStrictTakesInformation(t *testing.T) {
	for _, v := range os.Environ() { // the environment of the tests may have settings
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "MCPEDGE_") {
			t.Setenv(name, value) // restores the value after the test
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"keys.yaml": "- {name: a, sha256: 5189ab43e0f0e12095311b9aa9c1e69e624f760ea8d8bc3ed2d105f87642ee43}\n",
		"edge.yaml": "backends: [{name: big, target: '" + commandtest.Tools(t, "m", 1) + "'}]\nauth: {api-keys: keys.yaml}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"--strict"}, {"--strict", "--offline"}} {
		var out strings.Builder
		err := Run(t.Context(), append(args, "--config", filepath.Join(dir, "edge.yaml")), &out, &out)
		if err != nil || !strings.Contains(out.String(), "info    admin.address: 127.0.0.1:9090 obeys every process of this machine") {
			t.Errorf("%v: %v\n%s", args, err, &out)
		}
	}
}
