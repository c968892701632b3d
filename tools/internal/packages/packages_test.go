package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes the files of a module, and loads it by go list.
func module(t *testing.T) *Module {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module m\n\ngo 1.26\n",
		"base/base.go":       "package base\n\nconst X = 1\n",
		"base/base_test.go":  "package base\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n",
		"base/testdata/x":    "",
		"base/asset/x.html":  "",
		"mid/mid.go":         "package mid\n\nimport \"m/base\"\n\nconst X = base.X\n",
		"app/app.go":         "package app\n\nimport \"m/mid\"\n\nconst X = mid.X\n",
		"app/app_test.go":    "package app\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n",
		"suite/x_test.go":    "package suite\n\nimport (\n\t\"testing\"\n\n\t_ \"m/app\"\n)\n\nfunc TestX(t *testing.T) {}\n",
		"helper/helper.go":   "package helper\n\nimport _ \"m/base\"\n",
		"outer/x_test.go":    "package outer_test\n\nimport (\n\t\"testing\"\n\n\t_ \"m/helper\"\n)\n\nfunc TestX(t *testing.T) {}\n",
		"docs/docs_test.go":  "package docs\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Log(\"../docs/page.md\") }\n",
		"alone/alone.go":     "package alone\n\nconst X = \"..no path\"\n",
		"goes/goes.go":       "package goes\n\nfunc F() { go func() {}() }\n",
		"calls/calls.go":     "package calls\n\nimport \"m/goes\"\n\nfunc F() { goes.F() }\n",
		"locks/locks.go":     "package locks\n\nimport \"sync\"\n\nvar mu sync.Mutex\n",
		"serves/serves.go":   "package serves\n\nimport _ \"net/http\"\n",
		"url/url.go":         "package url\n\nimport _ \"net/url\"\n",
		"beside/x_test.go":   "package beside\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Parallel() }\n",
		"network/network.go": "package network\n\nimport _ \"m/net\"\n",
		"net/net.go":         "package net\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// short returns import paths without the module's path.
func short(paths []string) string {
	for i := range paths {
		paths[i] = strings.TrimPrefix(paths[i], "m/")
	}
	return strings.Join(paths, " ")
}

func TestWhatAChangeAffects(t *testing.T) {
	m := module(t)
	for files, want := range map[string]string{
		"base/base.go":               "app base suite outer",
		"base/asset/x.html":          "app base suite outer",
		"base/base_test.go":          "base",
		"base/testdata/x":            "base",
		"base/gone.go":               "app base suite outer",
		"mid/mid.go":                 "app suite",
		"helper/helper.go":           "outer",
		"alone/alone.go":             "",
		"suite/x_test.go":            "suite",
		"go.mod":                     "app base suite outer docs beside",
		"README.md":                  "docs",
		"other/docs.md README.md":    "docs",
		"base/base_test.go go.sum":   "app base suite outer docs beside",
		"alone/alone.go docs/any.md": "docs",
	} {
		change := m.Changed(strings.Fields(files))
		var failed error
		got := map[string]bool{}
		for _, path := range m.Paths(func(p *Package) bool {
			affected, err := m.Affects(change, p)
			if err != nil {
				failed = err
			}
			return affected && p.HasTests()
		}) {
			got[strings.TrimPrefix(path, "m/")] = true
		}
		for _, name := range strings.Fields(want) {
			if !got[name] {
				t.Errorf("%s does not affect %s", files, name)
			}
			delete(got, name)
		}
		if len(got) > 0 || failed != nil {
			t.Errorf("%s affects %v too, %v", files, got, failed)
		}
	}
}

func TestEndToEnd(t *testing.T) {
	m := module(t)
	got := short(m.Paths(func(p *Package) bool { return m.EndToEnd(p, []string{"m/app", "m/helper"}) }))
	if got != "outer suite" {
		t.Errorf("end to end: %s", got)
	}
}

func TestRacing(t *testing.T) {
	m := module(t)
	var failed error
	got := short(m.Paths(func(p *Package) bool {
		racing, err := m.Racing(p)
		if err != nil {
			failed = err
		}
		return racing
	}))
	if got != "beside goes locks serves" || failed != nil {
		t.Errorf("racing: %s, %v", got, failed)
	}
}

func TestTestFiles(t *testing.T) {
	m := module(t)
	for p := range m.All() {
		got := m.TestFiles(p, []string{"base/base.go", "base/base_test.go", "suite/x_test.go", "base/none_test.go"})
		want := map[string]string{"m/base": "base/base_test.go", "m/suite": "suite/x_test.go"}[p.ImportPath]
		if strings.Join(got, " ") != want {
			t.Errorf("of %s: %v", p.ImportPath, got)
		}
	}
}
