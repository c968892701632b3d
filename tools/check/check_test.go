package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tools/internal/packages"
)

// repository creates a git repository with main and a branch, and changes to its directory.
func repository(t *testing.T) func(args ...string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	return git
}

// write writes files whose text is their own name.
func write(t *testing.T, files ...string) {
	t.Helper()
	for _, name := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestChangedFiles(t *testing.T) {
	git := repository(t)
	write(t, "a.go", "b.go", ".gitignore")
	if err := os.WriteFile(".gitignore", []byte("ignored\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "-qm", "first")
	changed := func(base string) string {
		t.Helper()
		files, since, err := changedFiles(base)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(files, " ") + " since " + since[strings.IndexByte(since, '('):]
	}
	for _, c := range []struct {
		what string
		do   func()
		want string
	}{
		{"the first commit alone", func() {}, " since (first)"},
		{"the work tree of main", func() { write(t, "new.go", "ignored") }, "new.go since (first)"},
		{"main with nothing changed: since the commit before", func() { git("add", "."); git("commit", "-qm", "second") }, "new.go since (first)"},
		{"a branch", func() {
			git("checkout", "-qb", "branch")
			write(t, "committed.go")
			git("add", ".")
			git("commit", "-qm", "third")
			write(t, "staged.go", "with space.go")
			git("add", "staged.go")
			git("rm", "-q", "b.go")
		}, "b.go committed.go staged.go with space.go since (second)"},
		{"a branch that main has left behind", func() {
			git("stash", "-qu")
			git("checkout", "-q", "main")
			write(t, "of-main.go")
			git("add", ".")
			git("commit", "-qm", "fourth")
			git("checkout", "-q", "branch")
		}, "committed.go since (second)"},
	} {
		c.do()
		if got := changed(""); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if got := changed("HEAD"); got != " since (third)" {
		t.Errorf("since HEAD: %q", got)
	}
	if _, _, err := changedFiles("none"); err == nil {
		t.Error("an unknown revision is compared with")
	}
}

func TestForeignFiles(t *testing.T) {
	git := repository(t)
	write(t, "go.mod", "tools/go.mod", "tools/deep/go.mod", "toolshed/x.go")
	git("add", ".")
	own, commands, err := foreign([]string{"go.mod", "tools/x.go", "tools/y.go", "tools/deep/x.go", "toolshed/x.go"})
	if err != nil || !slices.Equal(own, []string{"go.mod", "toolshed/x.go"}) ||
		!slices.Equal(commands, []string{"go test -C tools ./...", "go test -C tools/deep ./..."}) {
		t.Errorf("own %v, %v, %v", own, commands, err)
	}
}

// TestChoice verifies that the affected packages are chosen, that end-to-end packages are not, and
// that the commands of changed end-to-end suites are returned.
func TestChoice(t *testing.T) {
	dir := t.TempDir()
	pkg := func(path string, tests map[string]string, imports ...string) *packages.Package {
		for i := range imports {
			imports[i] = module + imports[i]
		}
		p := &packages.Package{ImportPath: module + path, Dir: filepath.Join(dir, path), Imports: imports}
		for name, text := range tests {
			if err := os.MkdirAll(p.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(p.Dir, name), []byte("package x\n\n"+text), 0o644); err != nil {
				t.Fatal(err)
			}
			p.TestGoFiles = append(p.TestGoFiles, name)
		}
		return p
	}
	some := map[string]string{"x_test.go": "func TestX(t *testing.T) {}\n"}
	racing := map[string]string{"x_test.go": "func TestX(t *testing.T) { go func() {}() }\n"}
	m := packages.New(dir, []*packages.Package{
		pkg("edge/mcp", nil), pkg("edge/dispatch", racing, "edge/mcp"), pkg("edge/app", some, "edge/dispatch"), pkg("edge/other", some),
		pkg("tests/suites/x", map[string]string{
			"a_test.go": "func TestA(t *testing.T) {}\n\nfunc TestB(t *testing.T) {}\n\nfunc helper() {}\n", "b_test.go": "func TestC(t *testing.T) {}\n",
		}, "edge/app"),
		pkg("tests/suites/y", some, "tests/helpers/process"), pkg("tests/helpers/process", nil),
	})
	for _, c := range []struct {
		files, tested, left string
		all, beside         bool
	}{
		{"edge/dispatch/tools.go", "edge/app edge/dispatch", "", false, false},
		{"edge/dispatch/tools.go", "edge/app", "", false, true},
		{"edge/other/x.go", "edge/other", "", false, false},
		{"tests/helpers/process/x.go", "", "", false, false},
		{"tests/suites/x/a_test.go", "", "go test ./tests/suites/x -run '^(TestA|TestB)$'", false, false},
		{"tests/suites/x/a_test.go tests/suites/x/gone_test.go", "", "go test ./tests/suites/x -run '^(TestA|TestB)$'", false, false},
		{"tests/suites/x/testdata/y", "", "go test ./tests/suites/x", false, false},
		{"", "edge/app edge/dispatch edge/other", "", true, false},
		{"", "edge/app edge/other", "", true, true},
		{"tests/suites/x/testdata/y", "", "go test ./tests/suites/x", false, true},
	} {
		got, err := choose(m, strings.Fields(c.files), c.all, c.beside)
		names := strings.ReplaceAll(strings.Join(got.tested, " "), module, "")
		if err != nil || names != c.tested || strings.Join(got.left, "; ") != c.left {
			t.Errorf("%s: %q and %q, %v", c.files, names, got.left, err)
		}
	}
}
