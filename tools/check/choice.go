package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mcpedge/mcpedge/tools/internal/packages"
)

const module = "github.com/mcpedge/mcpedge/"

// transcripts is the package of TestTranscripts.
const transcripts = "./tests/suites/e2e"

// whole are the packages that stand for a complete edge: the one that wires it, and the one that
// builds and runs it as a process, whose dependencies go list does not know.
var whole = []string{module + "edge/app", module + "tests/helpers/process"}

// choice is the result of choose.
type choice struct {
	// tested are the import paths of the packages to test.
	tested []string
	// left are the commands of changed end-to-end suites, which are not run here.
	left []string
}

// choose returns the packages that the changed files affect; with all, every package except
// end-to-end ones. With beside it leaves out the packages that make test runs with the race
// detector.
func choose(m *packages.Module, files []string, all, beside bool) (choice, error) {
	change := m.Changed(files)
	var c choice
	var failed error
	c.tested = m.Paths(func(p *packages.Package) bool {
		switch {
		case !p.HasTests():
			return false
		case !m.EndToEnd(p, whole):
			affected, err := m.Affects(change, p)
			failed = errors.Join(failed, err)
			if !all && !affected || !beside {
				return all || affected
			}
			racing, err := m.Racing(p)
			failed = errors.Join(failed, err)
			return !racing
		}
		if change.Itself(p) {
			command, err := commandFor(m, p, files)
			failed = errors.Join(failed, err)
			c.left = append(c.left, command)
		}
		return false
	})
	return c, failed
}

var test = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// commandFor returns the command that runs the tests of p in the changed files. If only other files
// of p changed, the command runs all its tests.
func commandFor(m *packages.Module, p *packages.Package, files []string) (string, error) {
	var tests []string
	for _, file := range m.TestFiles(p, files) {
		text, err := os.ReadFile(filepath.Join(m.Root, file))
		if os.IsNotExist(err) {
			continue // it was removed
		}
		if err != nil {
			return "", err
		}
		for _, found := range test.FindAllStringSubmatch(string(text), -1) {
			tests = append(tests, found[1])
		}
	}
	folder, err := filepath.Rel(m.Root, p.Dir)
	if err != nil {
		return "", err
	}
	command := "go test ./" + filepath.ToSlash(folder)
	if len(tests) > 0 {
		command += fmt.Sprintf(" -run '^(%s)$'", strings.Join(tests, "|"))
	}
	return command, nil
}
