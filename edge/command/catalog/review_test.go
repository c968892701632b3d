package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog/lock"
	"github.com/mcpedge/mcpedge/edge/catalog/snapshot"
	"github.com/mcpedge/mcpedge/edge/command/commandtest"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// The tools of a lock can be compared even if no caller sees them: under a policy that denies them,
// and for a hidden tool.
func TestDiffOfALock(t *testing.T) {
	dir := t.TempDir()
	backend := "backends: [{name: one, target: '" + commandtest.Tools(t, "m", 2) + "'}]\n"
	for settings, hidden := range map[string]bool{
		"policy: {default: deny, rules: [{name: r, when: '\"x\" in principal.roles', then: allow}]}\n": true,
		"catalog: {tools: [{backend: one, tool: m0001, hide: true}]}\n":                                true,
		"": false,
	} {
		yaml := file(t, filepath.Join(dir, "edge.yaml"), backend+settings)
		text, err := run(t, "snapshot", "--config", yaml)
		if at := strings.Index(text, "{"); err != nil || at < 0 {
			t.Fatal(err, text)
		} else {
			text = text[at:]
		}
		same := file(t, filepath.Join(dir, "same.json"), text)
		if got, err := run(t, "diff", "--lock", same, same); err != nil || got != "" {
			t.Errorf("%v: the same file differs: %s", err, got)
		}
		var s snapshot.Snapshot
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		s.Definitions[1] = lock.Recorded("one", &pb.Tool{Name: "m0001", Description: "Reads.", InputSchemaJson: `{"type":"object","properties":{"a":{"type":"string"}}}`})
		old := written(t, filepath.Join(dir, "old.json"), &s)
		got, err := run(t, "diff", "--lock", old, "--config", yaml)
		for _, want := range []string{"tool one/m0001: description has changed\n          was \"Reads.\"\n", `tool one/m0001: the argument "a" is gone`} {
			if status(err) != 1 || err == nil || !strings.Contains(got, want) {
				t.Errorf("%q: %v: %q is missing in\n%s", settings, err, want, got)
			}
		}
		if got, err := run(t, "diff", "--lock", old, "--fail", "never", "--config", yaml); err != nil {
			t.Errorf("--fail never: %v\n%s", err, got)
		}
		if got, _ := run(t, "diff", old, same); hidden && !strings.Contains(got, "see mcpedge catalog diff --lock") {
			t.Errorf("%q: without --lock nothing says that definitions differ: %q", settings, got)
		}
	}
}

// Differing definitions are noted even if the lists of clients have changed, too. A new tool of a
// file is one line.
func TestDiffNotesTheLock(t *testing.T) {
	dir := t.TempDir()
	yaml := file(t, filepath.Join(dir, "edge.yaml"), "backends: [{name: one, target: '"+commandtest.Tools(t, "m", 2)+"'}]\n")
	text, err := run(t, "snapshot", "--config", yaml)
	if err != nil {
		t.Fatal(err)
	}
	now := file(t, filepath.Join(dir, "now.json"), text)
	var s snapshot.Snapshot
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	s.Definitions = s.Definitions[:1]
	s.Tools = append(s.Tools, snapshot.Entry{Backend: "one", Name: "gone", Shown: json.RawMessage(`{"name":"gone"}`)})
	old := written(t, filepath.Join(dir, "old.json"), &s)
	for _, args := range [][]string{{"diff", old, now}, {"diff", old, "--config", yaml}} {
		if got, err := run(t, args...); err == nil || !strings.Contains(got, "it is gone") || !strings.Contains(got, "see mcpedge catalog diff --lock") {
			t.Errorf("%v: %v\n%s", args, err, got)
		}
	}
	live, _ := run(t, "diff", "--lock", old, "--config", yaml)
	if got, _ := run(t, "diff", "--lock", old, now); got != live || !strings.Contains(got, "it is not in the lock") || strings.Contains(got, `\n`) {
		t.Errorf("of files\n%s\nof what is listed\n%s", got, live)
	}
}

func written(t *testing.T, name string, s *snapshot.Snapshot) string {
	t.Helper()
	var out strings.Builder
	if err := s.Write(&out); err != nil {
		t.Fatal(err)
	}
	return file(t, name, out.String())
}

// accept replaces the definition of one tool in a lock by that of the new snapshot, and no other.
func TestAccept(t *testing.T) {
	dir := t.TempDir()
	at := func(backend, tool, description string) lock.Definition {
		return lock.Recorded(backend, &pb.Tool{Name: tool, Description: description})
	}
	old := &snapshot.Snapshot{Definitions: []lock.Definition{at("a", "find", "x"), at("b", "find", "x"), at("b", "gone", "x"), at("b", "keep", "x")}}
	now := written(t, filepath.Join(dir, "new.json"), &snapshot.Snapshot{Definitions: []lock.Definition{at("a", "find", "y"), at("b", "find", "y"), at("b", "keep", "y"), at("b", "fresh", "y")}})
	for _, c := range []struct {
		tools []string
		want  string
		fails string
	}{
		{[]string{"a/find"}, "replaced a/find\n", ""},
		{[]string{"keep", "fresh", "b/gone"}, "replaced b/keep\nadded b/fresh\ndropped b/gone, which its backend does not list any more\n", ""},
		{[]string{"keep", "find"}, "", `several backends list a tool "find": write one of a/find, b/find`},
		{[]string{"a/keep"}, "", `no backend lists a tool "a/keep"`},
		{nil, "", "write mcpedge catalog accept LOCK NEW TOOL..."},
		{[]string{"keep", "--config"}, "", "write mcpedge catalog accept LOCK NEW TOOL..."},
	} {
		file := written(t, filepath.Join(dir, "lock.json"), old)
		before, _ := os.ReadFile(file)
		got, err := run(t, append([]string{"accept", file, now}, c.tools...)...)
		if got != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%v: %v\n%s", c.tools, err, got)
		}
		after, _ := os.ReadFile(file)
		if (string(before) != string(after)) != (c.fails == "") {
			t.Errorf("%v: the file was changed: %t", c.tools, c.fails != "")
		}
		if left, _ := run(t, "diff", "--lock", file, now); c.fails == "" && strings.Contains(left, "tool "+c.tools[0]+":") || !strings.Contains(left, "b/find: description") {
			t.Errorf("%v: afterwards\n%s", c.tools, left)
		}
	}
}
