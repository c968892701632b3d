package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadExpected(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		want       entries
		fails      bool
	}{
		{name: "empty", file: "", want: entries{}},
		{name: "comments only", file: "# none\nserver:\n", want: entries{}},
		{name: "scenario", file: "server:\n  - a\n", want: entries{"a": nil}},
		{name: "checks", file: "server:\n  - a:x\n  - a:y\n", want: entries{"a": {"x": true, "y": true}}},
		{name: "scenario twice", file: "server:\n  - a\n  - a\n", fails: true},
		{name: "check of a listed scenario", file: "server:\n  - a\n  - a:x\n", fails: true},
		{name: "scenario of a listed check", file: "server:\n  - a:x\n  - a\n", fails: true},
		{name: "no check id", file: "server:\n  - 'a:'\n", fails: true},
		{name: "no scenario", file: "server:\n  - ':x'\n", fails: true},
		{name: "unknown key", file: "sever:\n  - a\n", fails: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), expectedFile)
			if err := os.WriteFile(path, []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := loadExpected(path)
			if (err != nil) != tc.fails {
				t.Fatalf("loadExpected: error %v, want one: %v", err, tc.fails)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("loadExpected (-want +got):\n%s", diff)
			}
		})
	}
}

// The list in the repository must always be readable, also on machines that never run the suite.
func TestExpectedFailuresOfTheRepository(t *testing.T) {
	if _, err := loadExpected(expectedFile); err != nil {
		t.Fatal(err)
	}
}

func TestParseSummary(t *testing.T) {
	const head = "Running requirements\n✓ ping: 9 passed, 9 failed\n\n\n=== SUMMARY ===\n"
	const lines = "✓ ping: 2 passed, 0 failed\n✗ tools-list: 1 passed, 3 failed\n"
	const total = "\nTotal: 3 passed, 3 failed\n"
	want := []scenario{{name: "ping", passed: 2}, {name: "tools-list", passed: 1, failed: 3}}

	got, text := parseSummary([]byte(head + lines + total + "\nBaseline check passed\n"))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(scenario{})); diff != "" {
		t.Errorf("scenarios (-want +got):\n%s", diff)
	}
	if want := lines + "\nTotal: 3 passed, 3 failed"; text != want {
		t.Errorf("text %q, want %q", text, want)
	}
	for name, out := range map[string]string{"none": "boom", "cut off": head + lines} {
		if got, text := parseSummary([]byte(out)); got != nil || text != "" {
			t.Errorf("summary %s: got %v and %q, want nothing", name, got, text)
		}
	}
}

func TestReadChecks(t *testing.T) {
	dir := t.TempDir()
	put := func(folder, checks string) {
		t.Helper()
		path := filepath.Join(dir, folder)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if checks == "" {
			return
		}
		if err := os.WriteFile(filepath.Join(path, "checks.json"), []byte(checks), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("server-json-schema-2020-12-2026-11-21T00-48-01-531Z", `[{"id":"x","status":"SUCCESS"}]`)
	put("server-ping-2026-11-21T00-48-01-531Z", "")
	put("server-unknown-2026-11-21T00-48-01-531Z", `[]`)
	got := []scenario{{name: "json-schema-2020-12", passed: 1}, {name: "ping", failed: 1}}
	if err := readChecks(dir, got); err != nil {
		t.Fatal(err)
	}
	want := []check{{ID: "x", Status: "SUCCESS"}}
	if diff := cmp.Diff(want, got[0].checks); diff != "" || got[1].checks != nil {
		t.Errorf("checks %v and %v (-want +got):\n%s", got[0].checks, got[1].checks, diff)
	}
	if err := readChecks(filepath.Join(dir, "absent"), got); err != nil {
		t.Errorf("absent folder: %v", err)
	}
	put("server-ping-2026-11-21T00-48-02-000Z", "{")
	if err := readChecks(dir, got); err == nil {
		t.Error("a damaged checks.json went unnoticed")
	}
}

func TestJudge(t *testing.T) {
	ok := check{ID: "good", Status: "SUCCESS"}
	bad := check{ID: "bad", Status: "FAILURE", ErrorMessage: "why"}
	worse := check{ID: "worse", Status: "FAILURE", Description: "what"}
	for _, tc := range []struct {
		name     string
		scenario scenario
		expected entries
		want     verdict
	}{
		{"passes", scenario{"s", 1, 0, []check{ok}}, nil, verdict{tally: tally{passed: 1}}},
		{"skips", scenario{"s", 0, 0, []check{{ID: "good", Status: "SKIPPED"}}}, nil, verdict{tally: tally{skipped: 1}}},
		{"fails", scenario{"s", 1, 2, []check{ok, bad, worse}}, entries{"t": nil},
			verdict{tally: tally{failed: 1}, unexpected: []string{"s:bad: why", "s:worse: what"}}},
		{"breaks off", scenario{"s", 0, 1, nil}, nil,
			verdict{tally: tally{failed: 1}, unexpected: []string{"s: 1 failed without a recorded check: the scenario broke off"}}},
		{"fails as listed", scenario{"s", 1, 2, []check{ok, bad, worse}}, entries{"s": nil}, verdict{tally: tally{expected: 1}}},
		{"fails in the listed check", scenario{"s", 1, 1, []check{ok, bad}}, entries{"s": {"bad": true}}, verdict{tally: tally{expected: 1}}},
		{"fails in another check too", scenario{"s", 1, 2, []check{ok, bad, worse}}, entries{"s": {"bad": true}},
			verdict{tally: tally{failed: 1}, unexpected: []string{"s:worse: what"}}},
		{"listed and passes", scenario{"s", 1, 0, []check{ok}}, entries{"s": nil}, verdict{tally: tally{failed: 1}, stale: []string{"s"}}},
		{"listed and skips", scenario{"s", 0, 0, nil}, entries{"s": nil}, verdict{tally: tally{skipped: 1}}},
		{"listed check passes", scenario{"s", 1, 0, []check{ok}}, entries{"s": {"good": true}},
			verdict{tally: tally{failed: 1}, stale: []string{"s:good"}}},
		{"listed check passes once and fails once", scenario{"s", 1, 1, []check{{ID: "bad", Status: "SUCCESS"}, bad}},
			entries{"s": {"bad": true}}, verdict{tally: tally{expected: 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := judge([]scenario{tc.scenario}, tc.expected)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(verdict{}, tally{})); diff != "" {
				t.Errorf("judge (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseResults(t *testing.T) {
	got, text := parseResults("one", []byte("Checks:\nTest Results:\nPassed: 5/7, 2 failed, 1 warnings\n"))
	if len(got) != 1 || got[0].name != "one" || got[0].passed != 5 || got[0].failed != 2 || text != "Passed: 5/7, 2 failed, 1 warnings" {
		t.Errorf("%+v, %q", got, text)
	}
	if got, text := parseResults("one", []byte("Error: it broke off\n")); got != nil || text != "" {
		t.Errorf("of a run that broke off: %+v, %q", got, text)
	}
}
