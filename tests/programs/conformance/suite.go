package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

const (
	expectedFile = "expected-failures.yaml"
	packageName  = "@modelcontextprotocol/conformance"
	minNode      = 22 // first major version of Node.js the suite runs on
)

// suite is the installed conformance suite.
type suite struct {
	node   string // path of the Node.js binary
	script string // path of the suite's program
	sets   string // folder of the requirement sets, one YAML file per revision
}

// install brings the packages of the lock file into place, unless they are, and finds a Node.js
// that can run them: the one among the packages, else the system's.
func install(ctx context.Context) (suite, error) {
	modules := filepath.Join(folder, "node_modules")
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		return suite{}, err
	}
	sum := sha256.Sum256(lock)
	want := hex.EncodeToString(sum[:])
	stamp := filepath.Join(modules, ".installed")
	if have, err := os.ReadFile(stamp); err != nil || string(have) != want {
		start := time.Now()
		cmd := exec.CommandContext(ctx, "npm", "ci", "--loglevel=error")
		cmd.Dir = folder
		process.Bind(cmd)
		if out, err := cmd.CombinedOutput(); err != nil {
			return suite{}, fmt.Errorf("npm ci in %s: %w (npm and access to its packages are needed)\n%s", folder, err, out)
		}
		if err := os.WriteFile(stamp, []byte(want), 0o644); err != nil {
			return suite{}, err
		}
		fmt.Printf("installed the conformance suite in %.1f s\n", time.Since(start).Seconds())
	}
	node, err := findNode(ctx, filepath.Join(modules, ".bin", "node"), "node")
	if err != nil {
		return suite{}, err
	}
	root := filepath.Join(modules, filepath.FromSlash(packageName))
	return suite{
		node:   node,
		script: filepath.Join(root, "dist", "index.js"),
		sets:   filepath.Join(root, "requirements"),
	}, nil
}

// findNode returns the first candidate that is a Node.js of at least minNode.
func findNode(ctx context.Context, candidates ...string) (string, error) {
	var found []string
	for _, c := range candidates {
		out, err := exec.CommandContext(ctx, c, "--version").Output()
		if err != nil {
			continue
		}
		version := strings.TrimSpace(string(out))
		found = append(found, c+" "+version)
		major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
		if n, err := strconv.Atoi(major); err == nil && n >= minNode {
			return c, nil
		}
	}
	return "", fmt.Errorf("no Node.js %d or later (found %q): the packages bring one for Linux on x64; elsewhere install it", minNode, found)
}

// selection is what one run of the suite tests: a revision, or a scenario.
type selection struct {
	// flag is how the suite is asked for what is named.
	flag, name string
}

const (
	// required selects what a revision requires: the set that was frozen with it.
	required = "--requirements"
	// applicable selects the scenarios that apply to a revision, of which the suite has no set.
	applicable = "--spec-version"
	// single selects one scenario, of an extension.
	single = "--scenario"
)

func (s selection) String() string { return strings.TrimPrefix(s.flag, "--") + " " + s.name }

// args are what the suite is told beside that.
func (s selection) args() []string {
	if s.flag == single {
		return []string{applicable, extensionsWith, "--force"}
	}
	return []string{"--expected-failures", filepath.Join(folder, expectedFile)}
}

// extensionScenarios are in no requirement set, and are run with a revision that the extension can be used in.
var extensionScenarios = []string{"sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory"}

const extensionsWith = "2026-07-28"

// withoutSet are the revisions that the suite knows scenarios of, and no requirement set.
var withoutSet = []string{"2025-03-26", "2025-06-18"}

// selections lists what to run: the requirement sets, oldest first, then the scenarios of revisions without one, then those of
// extensions; or only those of one revision.
func (s suite) selections(only string) ([]selection, error) {
	files, err := filepath.Glob(filepath.Join(s.sets, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the suite has no requirement sets in %s: remove node_modules and run again", s.sets)
	}
	var all []selection
	for _, f := range files {
		all = append(all, selection{required, strings.TrimSuffix(filepath.Base(f), ".yaml")})
	}
	slices.SortFunc(all, func(a, b selection) int { return strings.Compare(a.name, b.name) })
	for _, r := range withoutSet {
		if slices.ContainsFunc(all, func(a selection) bool { return a.name == r }) {
			return nil, fmt.Errorf("the suite has a requirement set of %s by now: take the revision out of withoutSet", r)
		}
		all = append(all, selection{applicable, r})
	}
	for _, name := range extensionScenarios {
		all = append(all, selection{single, name})
	}
	if only == "" {
		return all, nil
	}
	one := slices.DeleteFunc(slices.Clone(all), func(a selection) bool { return a.name != only && (a.flag != single || only != extensionsWith) })
	if len(one) == 0 {
		return nil, fmt.Errorf("the suite has nothing about revision %q, only %q", only, all)
	}
	return one, nil
}

// test runs one selection against url, prints the suite's summary and the judgement, and
// leaves the full output in results. The error names what failed; the tally is valid with it.
func (s suite) test(ctx context.Context, url string, what selection, results string, expected entries) (tally, error) {
	start := time.Now()
	details := filepath.Join(results, what.name)
	cmd := exec.CommandContext(ctx, s.node, append([]string{s.script, "server", "--url", url, what.flag, what.name, "--output-dir", details},
		what.args()...)...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	process.Bind(cmd)
	out, runErr := cmd.CombinedOutput()
	log := filepath.Join(results, what.name+".log")
	if err := os.WriteFile(log, out, 0o644); err != nil {
		return tally{failed: 1}, err
	}
	var exit *exec.ExitError
	if runErr != nil && !errors.As(runErr, &exit) {
		return tally{failed: 1}, runErr
	}

	fmt.Printf("\n--- conformance, %s, against %s ---\n", what, url)
	scenarios, summary := parseSummary(out)
	if what.flag == single {
		scenarios, summary = parseResults(what.name, out)
	}
	if len(scenarios) == 0 {
		fmt.Printf("%s\n", bytes.TrimSpace(out))
		return tally{failed: 1}, fmt.Errorf("the suite printed no summary (%v); see %s", runErr, log)
	}
	fmt.Printf("%s\n", summary)
	if err := readChecks(details, scenarios); err != nil {
		return tally{failed: 1}, err
	}
	v := judge(scenarios, expected)
	v.print(os.Stdout)
	fmt.Printf("%s: %s in %.1f s\n", what, v.tally, time.Since(start).Seconds())
	switch {
	case v.failed > 0:
		return v.tally, fmt.Errorf("%d of %d scenarios failed; see %s", v.failed, len(scenarios), log)
	case runErr != nil:
		v.tally.failed++ // the suite holds something against us that its summary does not show
		return v.tally, fmt.Errorf("the suite ended with %w; see the end of %s", runErr, log)
	}
	return v.tally, nil
}
