// Command check is the first test of a change, within a minute: gofmt, go vet, the tests of
// affected packages, and transcripts of a complete edge. Run it in the root of the repository.
//
// The change is the difference to the commit at which this branch left the main branch, committed
// or not, untracked files included.
//
// Affected packages are those of the changed files, and those whose tests are built of one of them.
// A change of go.mod affects all packages. A file that belongs to no package, such as a page of the
// documentation, affects the packages that name a path above their own directory.
//
// With -beside-test it omits the packages that make test runs with the race detector, for CI, which
// runs both.
//
// End-to-end packages, whose tests are built of edge/app or run the edge as a process, would be
// affected by almost every change. They are left to `make test`, except for edge/app itself. In
// their place TestTranscripts runs, whose golden files cover the main behaviours of an edge in both
// eras and over every transport. For changes in other modules, such as tools/, the command that
// tests them is printed.
//
// Tests whose package, files and environment are unchanged come from the cache of go test. The race
// detector is off. Tests that need a redis-server are skipped if there is none.
//
// If GOTEST_COUNTS names a file, "<passed> <failed>" is written to it: format and vet count as one
// each, tests as in gotest.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	all := flag.Bool("all", false, "run all packages that a change can reach, not only those that one does")
	beside := flag.Bool("beside-test", false, "leave out the packages that make test runs with the race detector, where both are run")
	base := flag.String("base", "", "`revision` to compare with; empty: where this branch left origin/main or main")
	list := flag.Bool("list", false, "print the packages and run nothing")
	flag.Parse()
	start := time.Now()
	c := &checker{out: os.Stdout}
	err := c.run(*all, *beside, *base, *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
	}
	fmt.Printf("check: %d passed, %d failed, %d s\n", c.passed, c.failed, int(time.Since(start).Round(time.Second).Seconds()))
	if err != nil || c.failed > 0 {
		os.Exit(1)
	}
}
