// Command promql reports which metrics, and which labels of each, expressions of Prometheus's query
// language need. It reads a JSON list of Query from standard input and writes the list of their
// Needs, in the same order, to standard output.
//
// With the argument eval it evaluates expressions: it reads an Evaluation and writes the list of
// Results.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Query is one expression.
type Query struct {
	Expr string `json:"expr"`
	// Labels are the labels that a panel reads from the result, for a legend or a column of a
	// table.
	Labels []string `json:"labels"`
}

// Needs are the metrics and labels that a Query requires.
type Needs struct {
	Selectors []Selector `json:"selectors"`
	// Compared is the expression with comparisons that return 0 or 1, see Expression.Compared.
	// Empty if it has no comparison.
	Compared string `json:"compared,omitempty"`
	// Error is the reason why the query can never have the required labels. Empty means that it
	// can.
	Error string `json:"error,omitempty"`
}

// Selector is one metric with the labels that its query uses, sorted.
type Selector struct {
	Metric string   `json:"metric"`
	Labels []string `json:"labels"`
}

func main() {
	do := run
	if len(os.Args) > 1 && os.Args[1] == "eval" {
		do = runEval
	}
	if err := do(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var queries []Query
	if err := json.NewDecoder(in).Decode(&queries); err != nil {
		return fmt.Errorf("standard input is no JSON list of queries: %w", err)
	}
	all := make([]Needs, len(queries))
	for i, q := range queries {
		all[i] = needs(q)
	}
	return json.NewEncoder(out).Encode(all)
}
