package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/tools/internal/packages"
)

// envSet names a set of tests to run: machine, see packages.Module.OnMachine. Unset means all
// tests.
const envSet = "GOTEST_SET"

// onMachine restricts the arguments of go test to the tests of the set in envSet.
func onMachine(args []string, out io.Writer) ([]string, error) {
	switch set := os.Getenv(envSet); set {
	case "":
		return args, nil
	case "machine":
	default:
		return nil, fmt.Errorf("%s=%s: no set of tests has this name; machine has one", envSet, set)
	}
	flags, patterns := patternsOf(args)
	if pattern, _ := takeRun(flags); pattern != "" {
		return nil, fmt.Errorf("-run=%s: %s chooses the tests; unset it", pattern, envSet)
	}
	listed, err := exec.Command("go", append([]string{"list"}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	chosen := strings.Fields(string(listed))
	m, err := packages.Load(".")
	if err != nil {
		return nil, err
	}
	tests, err := m.OnMachine()
	if err != nil {
		return nil, err
	}
	var folders, names []string
	for p := range m.All() {
		if len(tests[p.ImportPath]) == 0 || !slices.Contains(chosen, p.ImportPath) {
			continue
		}
		folder, err := filepath.Rel(m.Root, p.Dir)
		if err != nil {
			return nil, err
		}
		folders, names = append(folders, "./"+filepath.ToSlash(folder)), append(names, tests[p.ImportPath]...)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s=machine: none of %s reaches the machine", envSet, strings.Join(patterns, " "))
	}
	fmt.Fprintf(out, "of all tests those that could end otherwise on another machine: %d in %d packages\n", len(names), len(folders))
	slices.Sort(names)
	run := "-run=^(" + strings.Join(slices.Compact(names), "|") + ")$" // tests of these names in other packages run as well
	return insert(append([]string{run}, flags...), folders), nil
}
