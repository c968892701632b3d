package main

import (
	"fmt"
	"slices"
	"strings"
)

// The numbers of packages, and of parallel tests of a package, that run concurrently for each core;
// the default of go test is one for each core. A parallel test uses a core for a third of its time,
// so that four leave none idle. With more an edge misses its own deadlines, such as the second
// within which Redis must answer.
const (
	packagesPerCore = 2
	testsPerCore    = 4
)

// overlap adds flags that make go test run more tests than cores concurrently, unless args set
// them.
func overlap(args []string, cores int) []string {
	own := []string{fmt.Sprintf("-p=%d", packagesPerCore*cores), fmt.Sprintf("-parallel=%d", testsPerCore*cores)}
	own = slices.DeleteFunc(own, func(flag string) bool {
		name, _, _ := strings.Cut(flag, "=")
		return slices.ContainsFunc(args, func(arg string) bool { return arg == name || strings.HasPrefix(arg, name+"=") })
	})
	return append(own, args...)
}
