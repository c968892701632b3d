package main

import (
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/tools/internal/packages"
)

// split makes two runs of one with the race detector, where it names several packages: one without the detector, of those in which no
// goroutines meet (see packages.Racing), and one with it, of the others. Many of the former compute for long, which the detector makes several
// times as long and finds nothing in. They need no -count=1 either: go test keeps what came of tests whose package, files and environment are
// what they were, and they have nothing else that could differ.
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
	for p := range m.All() {
		racing, err := m.Racing(p)
		if err != nil {
			return nil, err
		}
		if p.HasTests() && !racing && slices.Contains(chosen, p.ImportPath) {
			plain = append(plain, p.ImportPath)
		}
	}
	if len(plain) == 0 {
		return [][]string{args}, nil
	}
	fmt.Fprintf(out, "without the race detector, as no goroutines meet there: %d packages\n", len(plain))
	with := slices.DeleteFunc(chosen, func(path string) bool { return slices.Contains(plain, path) })
	return [][]string{insert(without(flags, "-race", "-count=1"), plain), insert(flags, with)}, nil
}

// patternsOf takes the patterns of packages, which begin with a dot, out of the arguments of go test.
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

// insert puts packages behind flags, before what is for the tests themselves.
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
