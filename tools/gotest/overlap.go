package main

import (
	"fmt"
	"slices"
	"strings"
)

// How many packages, and tests of a package that may run beside each other, are run at a time for each core. A test keeps a core busy
// for a fifth of its time; go test by itself runs one for each core.
const (
	packagesPerCore = 2
	testsPerCore    = 6
)

// overlap has go test run more at a time than there are cores, unless its arguments say how much.
func overlap(args []string, cores int) []string {
	own := []string{fmt.Sprintf("-p=%d", packagesPerCore*cores), fmt.Sprintf("-parallel=%d", testsPerCore*cores)}
	own = slices.DeleteFunc(own, func(flag string) bool {
		name, _, _ := strings.Cut(flag, "=")
		return slices.ContainsFunc(args, func(arg string) bool { return arg == name || strings.HasPrefix(arg, name+"=") })
	})
	return append(own, args...)
}
