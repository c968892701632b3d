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

// whole are the packages that stand for a whole edge: the one that wires it, and the one that builds and runs it as a process, of which
// go list does not know what it is built of.
var whole = []string{module + "edge/app", module + "tests/helpers/process"}

// choice is what is tested, and what is not.
type choice struct {
	// tested are import paths of packages.
	tested []string
	// left are commands that run tests which changed themselves, and are left out.
	left []string
}

// choose chooses by what changed; with all, every package that a change may choose.
func choose(m *packages.Module, files []string, all bool) (choice, error) {
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
			return all || affected
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

// commandFor runs the tests of p that stand in changed files; all of p's if other files of it changed alone.
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
