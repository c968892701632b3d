package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Evaluation is queries, and what they are asked of.
type Evaluation struct {
	Scrapes []Scrape `json:"scrapes"`
	// At is the time of the queries, in seconds since the epoch.
	At      int64        `json:"at"`
	Queries []Expression `json:"queries"`
}

// Expression is one query.
type Expression struct {
	Expr string `json:"expr"`
	// Compared: comparisons that leave series out give 0 or 1 instead, so that an alert that is right to be silent
	// can be told from one that has nothing to look at.
	Compared bool `json:"compared,omitempty"`
}

// Result is what a query gives.
type Result struct {
	// Samples, one for each series; a scalar has one without labels.
	Samples []Sample `json:"samples"`
	// Error says why there is no result; empty: there is.
	Error string `json:"error,omitempty"`
}

// Sample is the value of one series.
type Sample struct {
	Labels map[string]string `json:"labels"`
	// Value as a text, since JSON has no NaN.
	Value string `json:"value"`
}

// evalTimeout bounds one query.
const evalTimeout = time.Minute

func runEval(in io.Reader, out io.Writer) error {
	var e Evaluation
	if err := json.NewDecoder(in).Decode(&e); err != nil {
		return fmt.Errorf("standard input is no JSON of scrapes and queries: %w", err)
	}
	m := &memory{}
	for _, s := range e.Scrapes {
		if err := m.add(s); err != nil {
			return err
		}
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: evalTimeout, EnableAtModifier: true, EnableNegativeOffset: true})
	defer func() { _ = engine.Close() }()
	all := make([]Result, len(e.Queries))
	for i, q := range e.Queries {
		all[i] = evaluate(engine, m, q, time.Unix(e.At, 0))
	}
	return json.NewEncoder(out).Encode(all)
}

func evaluate(engine *promql.Engine, m *memory, q Expression, at time.Time) Result {
	text := q.Expr
	if q.Compared {
		expr, err := parser.ParseExpr(q.Expr)
		if err != nil {
			return Result{Error: err.Error()}
		}
		text = compared(expr)
	}
	query, err := engine.NewInstantQuery(context.Background(), m, nil, text, at)
	if err != nil {
		return Result{Error: err.Error()}
	}
	defer query.Close()
	got := query.Exec(context.Background())
	if got.Err != nil {
		return Result{Error: got.Err.Error()}
	}
	switch v := got.Value.(type) {
	case promql.Scalar:
		return Result{Samples: []Sample{sampleOf(labels.EmptyLabels(), v.V)}}
	case promql.Vector:
		r := Result{Samples: make([]Sample, 0, len(v))}
		for _, s := range v {
			r.Samples = append(r.Samples, sampleOf(s.Metric, s.F))
		}
		return r
	}
	return Result{Error: fmt.Sprintf("%s is no value at one time, but a %s", text, got.Value.Type())}
}

// compared changes the comparisons of an expression to those that give 0 or 1, and returns its text.
func compared(expr parser.Expr) string {
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if b, ok := n.(*parser.BinaryExpr); ok && b.Op.IsComparisonOperator() {
			b.ReturnBool = true
		}
		return nil
	})
	return expr.String()
}

func sampleOf(l labels.Labels, value float64) Sample {
	return Sample{Labels: l.Map(), Value: strconv.FormatFloat(value, 'g', -1, 64)}
}
