package check

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

// check reports the tools that differ from the lock, and the effect. An unusable lock is an error,
// even with --offline.
func TestCheckReadsTheLock(t *testing.T) {
	dir, backends := t.TempDir(), "backends: [{name: one, target: '"+commandtest.Tools(t, "m", 2)+"'}]\n"
	check := func(mode, lock string, args ...string) (string, error) {
		t.Helper()
		for name, text := range map[string]string{"edge.yaml": backends + "catalog-lock: {file: catalog.json, on-difference: " + mode + "}\n", "catalog.json": lock} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		err := Run(t.Context(), append([]string{"--config", filepath.Join(dir, "edge.yaml")}, args...), &out, &out)
		return out.String(), err
	}
	var known bytes.Buffer
	if err := (&snapshot.Snapshot{Definitions: []lock.Definition{lock.Of("one", &pb.Tool{Name: "m0000", Description: "Another."})}}).Write(&known); err != nil {
		t.Fatal(err)
	}
	for mode, ends := range map[string]string{"warn": "\n", "block": "; it is hidden until the lock has this definition\n"} {
		out, err := check(mode, known.String())
		for _, want := range []string{`the tool "m0000" differs from the catalog-lock: texts, input` + ends, `the tool "m0001" is not in the catalog-lock` + ends} {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%s: %v: %q is missing in\n%s", mode, err, want, out)
			}
		}
		if out, err := check(mode, known.String(), "--offline"); err != nil {
			t.Errorf("%s, offline: %v\n%s", mode, err, out)
		}
		for _, args := range [][]string{nil, {"--offline"}} {
			if out, err := check(mode, "{", args...); err == nil || !strings.Contains(err.Error(), "edge.yaml:2: catalog-lock: file") {
				t.Errorf("%s, %q: %v\n%s", mode, args, err, out)
			}
		}
	}
}
