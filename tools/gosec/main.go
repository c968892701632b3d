// Command gosec runs the rules of github.com/securego/gosec over packages and prints the findings.
// Annotate a false finding at its line, with its rule and the reason:
//
//	n := int32(len(list)) // #nosec G115 -- at most 100 entries
//
// An annotation without a rule or without a reason is refused. The command uses gosec as a library,
// because gosec's own command also proposes repairs and therefore has many more dependencies. The
// exit status is 0 if there are no findings.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/securego/gosec/v2"
	"github.com/securego/gosec/v2/analyzers"
	"github.com/securego/gosec/v2/issue"
	"github.com/securego/gosec/v2/rules"
	"golang.org/x/tools/go/packages"
)

func main() {
	exclude := flag.String("exclude", "", "rules to leave out, separated by commas")
	flag.Parse()
	n, err := run(os.Stdout, flag.Args(), split(*exclude))
	if err != nil {
		fmt.Fprintln(os.Stderr, "gosec:", err)
		os.Exit(2)
	}
	if n > 0 {
		fmt.Printf("%d findings\n", n)
		os.Exit(1)
	}
}

// analyze has all packages of the patterns loaded at once: the analyzer's own Process has "go list" run for each, which takes most of its
// time.
func analyze(a *gosec.Analyzer, patterns []string) error {
	loaded, err := packages.Load(&packages.Config{Mode: gosec.LoadMode}, patterns...)
	if err != nil {
		return err
	}
	if len(loaded) == 0 {
		return fmt.Errorf("no package matches %q", patterns)
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return fmt.Errorf("%s: %w", p.PkgPath, p.Errors[0])
		}
		a.CheckRules(p)
		a.CheckAnalyzers(p)
	}
	return nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// run prints the findings in the packages that match the patterns, and returns their number.
func run(out io.Writer, patterns, exclude []string) (int, error) {
	conf := gosec.NewConfig()
	conf.SetGlobal(gosec.NoSecRequireRules, "true")
	conf.SetGlobal(gosec.NoSecRequireJustification, "true")
	const tests, excludeGenerated, trackSuppressions = false, true, false
	a := gosec.NewAnalyzer(conf, tests, excludeGenerated, trackSuppressions, runtime.NumCPU(), log.New(io.Discard, "", 0))
	a.LoadRules(rules.Generate(trackSuppressions, rules.NewRuleFilter(true, exclude...)).RulesInfo())
	a.LoadAnalyzers(analyzers.Generate(trackSuppressions, analyzers.NewAnalyzerFilter(true, exclude...)).AnalyzersInfo())
	if err := analyze(a, patterns); err != nil {
		return 0, err
	}
	found, _, failed := a.Report()
	for file, errs := range failed {
		return 0, fmt.Errorf("%s: line %d: %s", file, errs[0].Line, errs[0].Err)
	}
	slices.SortFunc(found, func(a, b *issue.Issue) int {
		return strings.Compare(a.File+fmt.Sprintf("%10s", a.Line), b.File+fmt.Sprintf("%10s", b.Line))
	})
	here, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	for _, i := range found {
		file, err := filepath.Rel(here, i.File)
		if err != nil {
			file = i.File
		}
		fmt.Fprintf(out, "%s:%s:%s: %s: %s (severity %s, confidence %s)\n", file, i.Line, i.Col, i.RuleID, i.What, i.Severity, i.Confidence)
	}
	return len(found), nil
}
