package main

import (
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/tools/internal/packages"
)

// split divides a run with the race detector over several packages into runs with and without it:
//
//   - packages in which no goroutines share memory (see packages.Racing) run without the detector,
//     which would slow them down several times and find nothing. They also run without -count=1, so
//     that go test may use cached results;
//   - tests that the race detector excludes by a build constraint run without it;
//   - all others run with it.
func split(args []string, out io.Writer) ([][]string, error) {
	flags, patterns := patternsOf(args)
	if !slices.Contains(args, "-race") || len(patterns) == 0 {
		return [][]string{args}, nil
	}
	list := exec.Command("go", append([]string{"list"}, patterns...)...)
	listed, err := list.Output()
	if err != nil {
		return [][]string{args}, nil // go test says what is wrong with them
	}
	chosen := strings.Fields(string(listed))
	if len(chosen) < 2 {
		return [][]string{args}, nil
	}
	m, err := packages.Load(".")
	if err != nil {
		return nil, err
	}
	var plain []string
	unraced := map[string][]string{}
	for p := range m.All() {
		if !p.HasTests() || !slices.Contains(chosen, p.ImportPath) {
			continue
		}
		racing, err := m.Racing(p)
		if err != nil {
			return nil, err
		}
		if !racing {
			plain = append(plain, p.ImportPath)
			continue
		}
		names, err := packages.Unraced(p)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			unraced[p.ImportPath] = names
		}
	}
	var runs [][]string
	if len(plain) > 0 {
		fmt.Fprintf(out, "without the race detector, as no goroutines meet there: %d packages\n", len(plain))
		runs = append(runs, insert(without(flags, "-race", "-count=1"), plain))
	}
	if own := choosing(flags, unraced); own != nil {
		fmt.Fprintf(out, "without the race detector, as it excludes them: tests of %d packages\n", len(unraced))
		runs = append(runs, own)
	}
	if len(runs) == 0 {
		return [][]string{args}, nil
	}
	with := slices.DeleteFunc(chosen, func(path string) bool { return slices.Contains(plain, path) })
	return append(runs, insert(flags, with)), nil
}

// choosing returns the arguments of go test for the given tests, by import path, that flags choose.
// It returns nil if they choose none.
func choosing(flags []string, tests map[string][]string) []string {
	pattern, rest := takeRun(without(flags, "-race", "-count=1"))
	top, below, _ := strings.Cut(pattern, "/")
	wanted, err := regexp.Compile(top)
	if err != nil {
		return nil // go test says what is wrong with it
	}
	var paths, names []string
	for path, all := range tests {
		chosen := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !wanted.MatchString(name) })
		if len(chosen) > 0 {
			paths, names = append(paths, path), append(names, chosen...)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(paths)
	slices.Sort(names)
	run := "-run=^(" + strings.Join(slices.Compact(names), "|") + ")$"
	if below != "" {
		run += "/" + below
	}
	return insert(append([]string{run}, rest...), paths)
}

// takeRun removes -run from the flags of go test. The pattern is empty if there is none.
func takeRun(flags []string) (pattern string, rest []string) {
	for i := 0; i < len(flags); i++ {
		value, given := strings.CutPrefix(flags[i], "-run=")
		switch {
		case flags[i] == "-args":
			return pattern, append(rest, flags[i:]...)
		case given:
			pattern = value
		case flags[i] == "-run" && i+1 < len(flags):
			i++
			pattern = flags[i]
		default:
			rest = append(rest, flags[i])
		}
	}
	return pattern, rest
}

// patternsOf splits the arguments of go test into flags and patterns of packages, which begin with
// a dot.
func patternsOf(args []string) (flags, patterns []string) {
	for i, arg := range args {
		if arg == "-args" {
			return append(flags, args[i:]...), patterns
		}
		if arg == "." || strings.HasPrefix(arg, "./") {
			patterns = append(patterns, arg)
		} else {
			flags = append(flags, arg)
		}
	}
	return flags, patterns
}

// insert puts packages after the flags of go test, before the arguments of the tests themselves.
func insert(flags, paths []string) []string {
	i := slices.Index(flags, "-args")
	if i < 0 {
		i = len(flags)
	}
	return slices.Insert(slices.Clone(flags), i, paths...)
}

func without(flags []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return slices.Contains(names, flag) })
}
