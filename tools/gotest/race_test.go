package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module writes a module of packages with one test file each, and changes to its directory.
func module(t *testing.T, tests map[string]string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n"}
	for name, text := range tests {
		files[name+"/x_test.go"] = "package " + name + "\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar setting = os.Getenv(\"CGO_ENABLED\")\n\n" + text + "\n"
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

func TestSplit(t *testing.T) {
	module(t, map[string]string{
		"plain":  "func TestX(t *testing.T) {}",
		"other":  "func TestX(t *testing.T) {}",
		"racing": "func TestX(t *testing.T) { go func() {}() }",
	})
	for _, c := range []struct {
		args string
		want []string
	}{
		{"-race -count=1 -timeout=1m -run TestX ./...", []string{
			"-timeout=1m -run TestX example.com/m/other example.com/m/plain", "-race -count=1 -timeout=1m -run TestX example.com/m/racing",
		}},
		{"-race -count=3 ./plain ./racing -args -redis ./x", []string{"-count=3 example.com/m/plain -args -redis ./x", "-race -count=3 example.com/m/racing -args -redis ./x"}},
		{"-race ./plain", []string{"-race ./plain"}}, // asked for by name
		{"-race ./plain ./none", []string{"-race ./plain ./none"}},
		{"-race ./racing/...", []string{"-race ./racing/..."}},
		{"-count=1 ./...", []string{"-count=1 ./..."}},
	} {
		var out strings.Builder
		runs, err := split(strings.Fields(c.args), &out)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, len(runs))
		for i, run := range runs {
			got[i] = strings.Join(run, " ")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s\nruns  %q\nwant %q", c.args, got, c.want)
		}
		if said := strings.Contains(out.String(), "2 packages") || strings.Contains(out.String(), "1 packages"); said != (len(c.want) > 1) {
			t.Errorf("%s: printed %q", c.args, out.String())
		}
	}
}

// TestSplitOfExcludedTests: tests that the race detector excludes run without it, if they are
// chosen.
func TestSplitOfExcludedTests(t *testing.T) {
	module(t, map[string]string{
		"plain":  "func TestX(t *testing.T) {}",
		"racing": "func TestX(t *testing.T) { go func() {}() }",
	})
	text := "//go:build !race\n\npackage racing\n\nimport \"testing\"\n\nfunc TestLong(t *testing.T) {}\n\nfunc TestMuch(t *testing.T) {}\n\nfunc helper() {}\n"
	if err := os.WriteFile("racing/long_test.go", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{
		"":                        "-run=^(TestLong|TestMuch)$ example.com/m/racing",
		"-run=Long":               "-run=^(TestLong)$ example.com/m/racing",
		"-v -run Test/^a$":        "-run=^(TestLong|TestMuch)$/^a$ -v example.com/m/racing",
		"-count=1 -timeout=1m":    "-run=^(TestLong|TestMuch)$ -timeout=1m example.com/m/racing",
		"-run=TestX":              "",
		"-args -run=Long example": "-run=^(TestLong|TestMuch)$ example.com/m/racing -args -run=Long example",
	} {
		own, args, given := strings.Cut(flags, "-args")
		all := append(append([]string{"-race"}, strings.Fields(own)...), "./...")
		if given {
			all = append(append(all, "-args"), strings.Fields(args)...)
		}
		runs, err := split(all, new(strings.Builder))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(runs) == 3 {
			got = strings.Join(runs[1], " ")
		}
		if got != want || len(runs) < 2 {
			t.Errorf("%s: runs %q, want %q among them", flags, runs, want)
		}
	}
}

// TestRunsAreCountedTogether: the counts are the sums of both runs, and a failure of either is one
// of the whole. The race detector also works if everything else is built without the C compiler,
// which programs that tests build are, too.
func TestRunsAreCountedTogether(t *testing.T) {
	for name, c := range map[string]struct {
		plain, racing string
		code          int
		last          string
	}{
		"the first fails": {"t.Fail()", "", 1, "1 passed, 1 failed"},
		"the last fails":  {"", "t.Fail()", 1, "1 passed, 1 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			module(t, map[string]string{
				"plain":  "func TestX(t *testing.T) { " + c.plain + " }",
				"racing": "func TestX(t *testing.T) { c := make(chan int); go close(c); <-c; if setting != \"0\" { t.Error(setting) }; " + c.racing + " }",
			})
			t.Setenv(envNeeds, "")
			t.Setenv("CI", "")
			t.Setenv("CGO_ENABLED", "0")
			counts := filepath.Join(t.TempDir(), "counts")
			t.Setenv("GOTEST_COUNTS", counts)
			var out strings.Builder
			code, err := run([]string{"-race", "./..."}, &out)
			if err != nil || code != c.code || !strings.HasSuffix(out.String(), c.last+"\n") {
				t.Errorf("status %d, %v, printed\n%s", code, err, out.String())
			}
			text, err := os.ReadFile(counts)
			if want := strings.NewReplacer(" passed,", "", " failed", "").Replace(c.last); err != nil || string(text) != want+"\n" {
				t.Errorf("counts %q, %v, want %q", text, err, want)
			}
		})
	}
}
