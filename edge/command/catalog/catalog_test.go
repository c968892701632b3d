package catalog

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/command"
	"github.com/mcpedge/mcpedge/edge/command/commandtest"
)

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := Run(t.Context(), args, &out, &out)
	return out.String(), err
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Two consecutive snapshots are equal. A change of the settings' catalog is a difference.
func TestSnapshotAndDiff(t *testing.T) {
	dir := t.TempDir()
	backends := "backends: [{name: one, target: '" + commandtest.Tools(t, "m", 2) + "'}]\n"
	plain := file(t, filepath.Join(dir, "plain.yaml"), backends)
	changed := file(t, filepath.Join(dir, "changed.yaml"), backends+"catalog:\n  tools:\n    - {backend: one, tool: m0000, hide: true}\n    - {backend: one, tool: m0001, description: New.}\n")
	first, err := run(t, "snapshot", "--config", plain)
	if err != nil || !strings.Contains(first, `"name": "m0000"`) || !strings.Contains(first, `"prompts": []`) {
		t.Fatalf("%v\n%s", err, first)
	}
	old := file(t, filepath.Join(dir, "old.json"), first)
	for _, c := range []struct {
		args  []string
		fails bool
		want  string
	}{
		{[]string{"diff", old, "--config", plain}, false, ""},
		{[]string{"diff", old, old}, false, ""},
		{[]string{"diff", old, "--config", changed}, true, "breaks  tool m0000: it is gone\nwords   tool m0001: description has changed\n          is  \"New.\"\n"},
		{[]string{"diff", "--fail", "never", old, "--config", changed}, false, "breaks  tool m0000: it is gone\nwords   tool m0001: description has changed\n          is  \"New.\"\n"},
		{[]string{"diff", old, "--fail=words", "--config", plain}, false, ""},
		{[]string{"diff", "--config", changed, old}, true, "breaks  tool m0000: it is gone\nwords   tool m0001: description has changed\n          is  \"New.\"\n"},
		{[]string{"diff", "--config", plain, old, "--fail", "words"}, false, ""},
		{[]string{"diff", old, "--fail", "changes", old}, false, ""},
	} {
		if got, err := run(t, c.args...); (err != nil) != c.fails || got != c.want || err != nil && status(err) != 1 {
			t.Errorf("%v: status %d: %v\n%s\nwant\n%s", c.args, status(err), err, got, c.want)
		}
	}
}

// status returns the exit status of an error.
func status(err error) int {
	if exit := (*command.Exit)(nil); errors.As(err, &exit) {
		return exit.Status
	}
	return 1
}

// A snapshot has the arguments that the edge adds, without pinned values, and the bounds of
// results. diff compares them.
func TestWhatIsSent(t *testing.T) {
	dir := t.TempDir()
	backend := capability.New("m", "1", capability.WithLogger(slog.New(slog.DiscardHandler)))
	capability.AddTool(backend, "m0000", "", func(context.Context, *capability.Call, struct{ Text string }) (string, error) { return "", nil })
	target := commandtest.Serve(t, backend)
	at := func(name, catalog string) string {
		return file(t, filepath.Join(dir, name), "backends: [{name: one, target: '"+target+"'}]\ncatalog:\n  tools:\n    - {backend: one, tool: m0000, "+catalog+"}\n")
	}
	before := at("before.yaml", "name: first, max-result: {tokens: 200}, arguments: {Text: {value: secret-1}}")
	for catalog, want := range map[string]string{
		"name: first, max-result: {tokens: 200}, arguments: {Text: {value: secret-1}}":               "",
		"name: first, max-result: {tokens: 200}, arguments: {Text: {value: secret-2}}":               `changes tool first: the argument "Text" is pinned to another value, before a fixed one` + "\n",
		"name: first, max-result: {tokens: 1}, aliases: [x], arguments: {Text: {value: secret-1}}":   "changes tool first: max-result was 200 tokens and is 1 tokens: longer results are cut\nwidens  tool first: it also answers to the alias \"x\"\n",
		"name: first, max-result: {tokens: 200}, arguments: {Text: {from: principal.claims.tenant}}": `breaks  tool first: the argument "Text" is computed from the caller by "principal.claims.tenant", before a fixed one: callers without a value are refused` + "\n",
	} {
		first, err := run(t, "snapshot", "--config", before)
		if err != nil || !strings.Contains(first, `"canonical": "m0000"`) || strings.Contains(first, "secret") {
			t.Fatalf("%v\n%s", err, first)
		}
		old := file(t, filepath.Join(dir, "old.json"), first)
		if got, err := run(t, "diff", old, "--fail", "never", "--config", at("after.yaml", catalog)); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", catalog, err, got, want)
		}
	}
}

// A snapshot has the lists of an anonymous caller, or of the caller with --claims, as the policy
// restricts them.
func TestSnapshotOfACaller(t *testing.T) {
	dir := t.TempDir()
	backends := "backends: [{name: one, target: '" + commandtest.Tools(t, "m", 3) + "'}]\n"
	open := file(t, filepath.Join(dir, "open.yaml"), backends)
	policy := file(t, filepath.Join(dir, "policy.yaml"), backends+`policy:
  default: deny
  rules:
    - {name: staff, when: 'has(principal.claims.team) && principal.claims.team == "staff" && tool.name != "m0002"', then: allow}
    - {name: all, when: 'tool.name == "m0000"', then: allow}
    - {name: machines, when: '"robot" in principal.roles && tool.name == "m0001"', then: allow}
auth: {api-keys: keys.yaml}
`)
	file(t, filepath.Join(dir, "keys.yaml"), "- {name: robot, sha256: 5189ab43e0f0e12095311b9aa9c1e69e624f760ea8d8bc3ed2d105f87642ee43, roles: [robot]}\n")
	all, _ := run(t, "snapshot", "--config", open)
	old := file(t, filepath.Join(dir, "old.json"), all)
	const note = "note: the policy hides %s of 3 entries from this caller%s\n"
	gone := func(name string) string { return "breaks  tool " + name + ": it is gone\n" }
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, fmt.Sprintf(note, "2", ", who is anonymous: --claims has the claims of another one, --api-key the name of its key") + gone("m0001") + gone("m0002")},
		{[]string{"--claims", `{"sub":"ann","team":"staff"}`}, fmt.Sprintf(note, "1", "") + gone("m0002")},
		{[]string{"--api-key", "robot"}, fmt.Sprintf(note, "1", "") + gone("m0002")},
	} {
		if got, err := run(t, slices.Concat([]string{"diff", old, "--fail", "never", "--config", policy}, c.args)...); err != nil || got != c.want {
			t.Errorf("%v: %v\n%s\nwant\n%s", c.args, err, got, c.want)
		}
	}
	for _, c := range [][]string{{"--api-key", "robo"}, {"--api-key", "robot", "--claims", "{}"}} {
		if _, err := run(t, append([]string{"snapshot", "--config", policy}, c...)...); err == nil || !strings.Contains(err.Error(), map[int]string{2: `did you mean "robot"?`, 4: "two callers"}[len(c)]) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if out, err := run(t, "snapshot", "--config", policy, "--claims", "{"); err == nil {
		t.Errorf("bad claims are taken: %s", out)
	}
}

// A snapshot has the definitions of all tools, including hidden ones. It can be made while the lock
// of the settings is missing or incomplete.
func TestSnapshotForALock(t *testing.T) {
	dir := t.TempDir()
	settings := file(t, filepath.Join(dir, "edge.yaml"), "backends: [{name: one, target: '"+commandtest.Tools(t, "m", 2)+"'}]\n"+
		"catalog: {default: hide}\ncatalog-lock: {file: catalog.json, on-difference: block}\n")
	first, err := run(t, "snapshot", "--config", settings)
	if err != nil || !strings.Contains(first, `"tools": []`) || strings.Count(first, `"tool": "m000`) != 2 {
		t.Fatalf("%v\n%s", err, first)
	}
	for _, before := range []string{"", first} {
		file(t, filepath.Join(dir, "catalog.json"), before)
		if again, err := run(t, "snapshot", "--config", settings); err != nil || again != first {
			t.Errorf("%v\n%s\nwant\n%s", err, again, first)
		}
	}
}

// Invalid arguments, files that are not snapshots, and unreachable backends are errors.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	bad := file(t, filepath.Join(dir, "bad.json"), `{"tool": []}`)
	good := file(t, filepath.Join(dir, "good.json"), `{"tools":[]}`)
	away := file(t, filepath.Join(dir, "away.yaml"), "backends: [{name: one, target: '127.0.0.1:1'}]\nadvanced: {start-wait: 200ms}\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "write mcpedge catalog snapshot"},
		{[]string{"nix"}, "write mcpedge catalog snapshot"},
		{[]string{"diff"}, "write mcpedge catalog diff OLD NEW"},
		{[]string{"diff", good, good, good}, "write mcpedge catalog diff OLD NEW"},
		{[]string{"diff", good, good, "--config", away}, "write mcpedge catalog diff OLD NEW"},
		{[]string{"diff", bad, good}, "bad.json: it is not a snapshot of a catalog"},
		{[]string{"diff", filepath.Join(dir, "nix"), good}, "no such file"},
		{[]string{"diff", good, good, "--fail", "all"}, "use breaks, changes, widens, words or never"},
		{[]string{"diff", good, "--config", away}, `the backend "one" could not be asked for its lists`},
		{[]string{"diff", good, "--nix"}, "nix"},
		{[]string{"diff", "--lock", good, good}, "good.json has no definitions"},
		{[]string{"diff", good, good, "--claims", "{}"}, "write mcpedge catalog diff OLD NEW"},
		{[]string{"snapshot", "--config", away}, `the backend "one" could not be asked for its lists`},
	} {
		out, err := run(t, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s\n%s", c.args, err, c.want, out)
		}
		if isDiff := len(c.args) > 0 && c.args[0] == "diff"; isDiff != (status(err) == 2) {
			t.Errorf("%v: the exit status is %d", c.args, status(err))
		}
	}
	for _, args := range [][]string{{"--help"}, {"snapshot", "--help"}, {"diff", "--help"}} {
		if out, err := run(t, args...); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out, "mcpedge catalog snapshot") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

// A snapshot of a set has the lists of its endpoint: the set's members in its form, and the edge's
// own tools. With search it also has the tools that are found there. diff without NEW compares the
// set of the file.
func TestSnapshotOfASet(t *testing.T) {
	dir := t.TempDir()
	backends := "backends: [{name: one, target: '" + commandtest.Tools(t, "m", 3) + "'}]\nauth: {api-keys: keys.yaml}\n"
	file(t, filepath.Join(dir, "keys.yaml"), "- {name: ann, sha256: "+strings.Repeat("0", 64)+"}\n")
	settings := func(name, desk string) string {
		return file(t, filepath.Join(dir, name+".yaml"), backends+`policy:
  default: allow
  rules: [{name: one, when: 'request.set == "desk" && tool.name == "m0001"', then: hide}]
sets:
  desk: `+desk+`
  staff: {include: {tools: ["*"]}, when: 'has(principal.claims.team)', scopes: [a]}
`)
	}
	plain := settings("plain", `{include: {tools: [m0000, m0001]}}`)
	tools := settings("tools", `{include: {tools: [m0000, m0002]}, as-tools: [resources]}`)
	searched := settings("searched", `{include: {tools: [m0000, m0002]}, search: on, listed: {tools: [m0002]}}`)
	take := func(settings string, args ...string) string {
		t.Helper()
		out, err := run(t, slices.Concat([]string{"snapshot", "--config", settings}, args)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return out
	}
	const note = "note: the policy hides 1 of 2 entries from this caller, who is anonymous: --claims has the claims of another one, --api-key the name of its key\n"
	desk := take(plain, "--set", "desk")
	if !strings.HasPrefix(desk, note+"{\n  \"set\": \"desk\",\n  \"tools\": [\n") || strings.Count(desk, `"shown"`) != 1 || strings.Count(desk, `"tool": "m000`) != 3 {
		t.Fatalf("the set has\n%s", desk)
	}
	if root := take(plain); strings.Contains(root, `"set"`) || strings.Count(root, `"shown"`) != 3 {
		t.Errorf("the root has\n%s", root)
	}
	if staff := take(plain, "--set=staff", "--claims", `{"sub":"ann","team":"x","scope":"a"}`); strings.Count(staff, `"shown"`) != 3 {
		t.Errorf("the other set has\n%s", staff)
	}
	old := file(t, filepath.Join(dir, "old.json"), strings.TrimPrefix(desk, note))
	withTools := file(t, filepath.Join(dir, "tools.json"), take(tools, "--set", "desk"))
	withSearch := file(t, filepath.Join(dir, "searched.json"), take(searched, "--set", "desk"))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{old, "--config", plain, "--fail", "words"}, note},
		{[]string{old, "--config", plain, "--fail", "words", "--set", "desk"}, note},
		{[]string{old, "--config", tools}, "widens  tool list_resources: it is new, of the edge itself\nwidens  tool m0002: it is new, of the backend \"one\"\nwidens  tool read_resource: it is new, of the edge itself\n"},
		{[]string{withTools, withSearch, "--fail", "never"}, "breaks  tool list_resources: it is gone\nchanges tool m0000: it is not listed any more, and find_tools finds it\nbreaks  tool read_resource: it is gone\n" +
			"widens  tool call_tool: it is new, of the edge itself\nwidens  tool find_tools: it is new, of the edge itself\n"},
		{[]string{withSearch, "--config", tools, "--fail", "never"}, "breaks  tool call_tool: it is gone\nbreaks  tool find_tools: it is gone\nwidens  tool m0000: it is listed now\n" +
			"widens  tool list_resources: it is new, of the edge itself\nwidens  tool read_resource: it is new, of the edge itself\n"},
	} {
		if got, err := run(t, append([]string{"diff"}, c.args...)...); err != nil || sortedLines(got) != sortedLines(c.want) {
			t.Errorf("%v: %v\n%s\nwant\n%s", c.args, err, got, c.want)
		}
	}
	root := file(t, filepath.Join(dir, "root.json"), take(plain))
	for _, args := range [][]string{{root, old}, {root, "--config", plain, "--set", "desk"}} {
		got, err := run(t, append([]string{"diff"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), `of the root and of the set "desk"`) || strings.Contains(got, "it is gone") {
			t.Errorf("%v: %v\n%s", args, err, got)
		}
		if _, err := run(t, append([]string{"diff", "--lock"}, args...)...); err != nil {
			t.Errorf("--lock %v: %v", args, err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--set", "dosk"}, `the settings have no set "dosk": did you mean "desk"?`},
		{[]string{"--set"}, "--set lacks the name of a set"},
		{[]string{"--set", "staff"}, "sets.staff.when is not true for the caller"},
		{[]string{"--set", "staff", "--claims", `{"sub":"ann","team":"x"}`}, "the caller lacks the scopes a"},
	} {
		for _, command := range [][]string{{"snapshot"}, {"diff", old}} {
			if out, err := run(t, slices.Concat(command, []string{"--config", plain}, c.args)...); err == nil || !strings.Contains(err.Error(), c.want) || command[0] == "diff" && status(err) != 2 {
				t.Errorf("%v %v: %v, want %s\n%s", command, c.args, err, c.want, out)
			}
		}
	}
	if _, err := run(t, "diff", old, withTools, "--set", "desk"); err == nil {
		t.Error("two files are compared in a set")
	}
}

// sortedLines returns the sorted lines of a comparison, without the lines that quote old and new
// values.
func sortedLines(text string) string {
	lines := slices.Sorted(strings.Lines(text))
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "   ") }), "")
}
