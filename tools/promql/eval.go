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

// Evaluation is the input of eval: queries, and the scrapes that they are evaluated on.
type Evaluation struct {
	Scrapes []Scrape `json:"scrapes"`
	// At is the time of the queries, in seconds since the epoch.
	At      int64        `json:"at"`
	Queries []Expression `json:"queries"`
}

// Expression is one query.
type Expression struct {
	Expr string `json:"expr"`
	// Compared makes comparisons return 0 or 1 instead of filtering series. So an alert whose
	// condition is false can be distinguished from one without series.
	Compared bool `json:"compared,omitempty"`
}

// Result is the result of a query.
type Result struct {
	// Samples has one sample for each series; a scalar has one without labels.
	Samples []Sample `json:"samples"`
	// Error is the reason of a failed query. Empty means success.
	Error string `json:"error,omitempty"`
}

// Sample is the value of one series.
type Sample struct {
	Labels map[string]string `json:"labels"`
	// Value is a text, since JSON has no NaN.
	Value string `json:"value"`
}

// evalTimeout is the timeout of one query.
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

// compared returns the text of an expression whose comparisons return 0 or 1.
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
