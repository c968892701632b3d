package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// entries holds what is expected to fail: per scenario the ids of the checks that may, or nil when
// the whole scenario may.
type entries map[string]map[string]bool

// loadExpected reads an expected-failures file in the suite's format. Unknown keys are errors.
func loadExpected(path string) (entries, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Server []string `yaml:"server"`
	}
	if err := yaml.UnmarshalWithOptions(raw, &file, yaml.Strict()); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := entries{}
	for _, line := range file.Server {
		name, check, one := strings.Cut(line, ":")
		have, listed := out[name]
		switch {
		case name == "" || one && check == "":
			return nil, fmt.Errorf("%s: entry %q is neither <scenario> nor <scenario>:<check-id>", path, line)
		case listed && (have == nil || !one):
			return nil, fmt.Errorf("%s: entry %q repeats what another entry of the scenario says", path, line)
		case !one:
			out[name] = nil
		case have == nil:
			out[name] = map[string]bool{check: true}
		default:
			have[check] = true
		}
	}
	return out, nil
}

// scenario is the outcome of one scenario of one run.
type scenario struct {
	name           string
	passed, failed int     // checks, as the suite's summary counts them
	checks         []check // from the results folder; empty when the scenario broke off
}

// check is one entry of a scenario's checks.json.
type check struct {
	ID           string `json:"id"`
	Description  string `json:"description"`
	Status       string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED or INFO
	ErrorMessage string `json:"errorMessage"`
}

var (
	summaryMark = []byte("=== SUMMARY ===")
	summaryLine = regexp.MustCompile(`(?m)^[✓✗] (\S+): (\d+) passed, (\d+) failed$`)
	totalLine   = regexp.MustCompile(`(?m)^Total: .*$`)
	resultsLine = regexp.MustCompile(`(?m)^Passed: (\d+)/\d+, (\d+) failed, \d+ warnings$`)
	resultDir   = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\dZ-]+$`)
)

// parseSummary returns the scenarios of the summary in the suite's output, and the summary's text.
// Both are empty when the suite ended before it printed a complete one.
func parseSummary(out []byte) ([]scenario, string) {
	at := bytes.LastIndex(out, summaryMark)
	if at < 0 {
		return nil, ""
	}
	text := out[at:]
	end := totalLine.FindIndex(text)
	if end == nil {
		return nil, ""
	}
	text = text[:end[1]]
	var list []scenario
	for _, m := range summaryLine.FindAllSubmatch(text, -1) {
		passed, _ := strconv.Atoi(string(m[2]))
		failed, _ := strconv.Atoi(string(m[3]))
		list = append(list, scenario{name: string(m[1]), passed: passed, failed: failed})
	}
	return list, string(bytes.TrimSpace(text[len(summaryMark):]))
}

// parseResults is parseSummary of a run of one scenario, which has no summary but its results.
func parseResults(name string, out []byte) ([]scenario, string) {
	m := resultsLine.FindSubmatch(out)
	if m == nil {
		return nil, ""
	}
	passed, _ := strconv.Atoi(string(m[1]))
	failed, _ := strconv.Atoi(string(m[2]))
	return []scenario{{name: name, passed: passed, failed: failed}}, string(m[0])
}

// readChecks fills in the checks of the scenarios from the folders the suite wrote under dir.
func readChecks(dir string, scenarios []scenario) error {
	folders, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	byName := map[string]*scenario{}
	for i := range scenarios {
		byName[scenarios[i].name] = &scenarios[i]
	}
	for _, f := range folders {
		m := resultDir.FindStringSubmatch(f.Name())
		if m == nil || byName[m[1]] == nil {
			continue
		}
		path := filepath.Join(dir, f.Name(), "checks.json")
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the scenario broke off; the summary counts it as failed
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &byName[m[1]].checks); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// tally counts scenarios. One that fails as listed and one that ran no check are neither passed nor
// failed; a stale entry makes its scenario a failed one.
type tally struct{ passed, failed, expected, skipped int }

func (t *tally) add(u tally) {
	t.passed += u.passed
	t.failed += u.failed
	t.expected += u.expected
	t.skipped += u.skipped
}

func (t tally) counts() string { return fmt.Sprintf("%d %d\n", t.passed, t.failed) }

func (t tally) String() string {
	return fmt.Sprintf("%d scenarios passed, %d failed, %d failed as expected, %d skipped", t.passed, t.failed, t.expected, t.skipped)
}

// verdict is the judgement over one run.
type verdict struct {
	tally
	unexpected []string // failing checks that are not listed, with the suite's message
	stale      []string // listed entries that pass
}

// judge holds every scenario against the listed failures. Unlike the suite, which leaves scenarios
// it does not score out of its verdict, it holds these too.
func judge(scenarios []scenario, expected entries) verdict {
	var v verdict
	for _, s := range scenarios {
		allowed, listed := expected[s.name]
		unexpected, stale, excused := weigh(s, allowed, listed)
		v.unexpected = append(v.unexpected, unexpected...)
		v.stale = append(v.stale, stale...)
		switch {
		case len(unexpected) > 0 || len(stale) > 0:
			v.failed++
		case excused:
			v.expected++
		case s.passed == 0:
			v.skipped++
		default:
			v.passed++
		}
	}
	return v
}

// weigh returns the failures of s that are not allowed, the entries that s has outgrown, and
// whether s has failures that are allowed.
func weigh(s scenario, allowed map[string]bool, listed bool) (unexpected, stale []string, excused bool) {
	if listed && allowed == nil {
		if s.failed == 0 && s.passed > 0 {
			return nil, []string{s.name}, false
		}
		return nil, nil, s.failed > 0
	}
	passed, failing := map[string]bool{}, map[string]bool{}
	seen := 0
	for _, c := range s.checks {
		switch c.Status {
		case "SUCCESS":
			passed[c.ID] = true
			continue
		case "FAILURE":
			seen++
		default:
			continue
		}
		failing[c.ID] = true
		if allowed[c.ID] {
			excused = true
			continue
		}
		why := c.ErrorMessage
		if why == "" {
			why = c.Description
		}
		unexpected = append(unexpected, fmt.Sprintf("%s:%s: %s", s.name, c.ID, why))
	}
	if missing := s.failed - seen; missing > 0 {
		unexpected = append(unexpected, fmt.Sprintf("%s: %d failed without a recorded check: the scenario broke off", s.name, missing))
	}
	for id := range allowed {
		if passed[id] && !failing[id] {
			stale = append(stale, s.name+":"+id)
		}
	}
	return unexpected, stale, excused
}

// print writes what has to be looked at; nothing when there is nothing.
func (v verdict) print(w io.Writer) {
	for _, line := range v.unexpected {
		fmt.Fprintf(w, "FAIL  %s\n", line)
	}
	for _, line := range v.stale {
		fmt.Fprintf(w, "STALE %s passes: remove it from %s\n", line, filepath.Join(folder, expectedFile))
	}
}
