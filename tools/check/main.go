// Command check is the first test of a change, for the loop of a minute: gofmt, go vet, the tests of the packages that the change reaches, and
// transcripts of a whole edge. It is run in the root of the repository.
//
// The change is what differs from where this branch left the main one, committed or not, with the files that are about to be added. Reached are
// the packages of its files, and those whose tests are built of one of them; all of them by go.mod; and by a file of no package, such as a page of
// the documentation, those that name a path above their own folder. Tests of a whole edge are built of everything, so they would always be among them: a package whose tests are
// built of edge/app, or run the edge as a process, is left to `make test`, edge/app itself is not. In its place TestTranscripts is run, whose
// goldens hold the main behaviours of an edge in both eras and over every transport. What changed in other modules, such as tools/, is named
// with the command that tests it.
//
// No test is run anew whose package, files and environment are what they were: go test keeps what came of it. The race detector is not on. What
// needs a redis-server is left out where there is none.
//
// With GOTEST_COUNTS set to a file name, "<passed> <failed>" is written to that file: format and vet count as one each, tests as in gotest.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	all := flag.Bool("all", false, "run all packages that a change can reach, not only those that one does")
	base := flag.String("base", "", "`revision` to compare with; empty: where this branch left origin/main or main")
	list := flag.Bool("list", false, "print the packages and run nothing")
	flag.Parse()
	start := time.Now()
	c := &checker{out: os.Stdout}
	err := c.run(*all, *base, *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
	}
	fmt.Printf("check: %d passed, %d failed, %d s\n", c.passed, c.failed, int(time.Since(start).Round(time.Second).Seconds()))
	if err != nil || c.failed > 0 {
		os.Exit(1)
	}
}
