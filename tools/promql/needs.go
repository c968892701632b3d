package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

func needs(q Query) Needs {
	expr, err := parser.ParseExpr(q.Expr)
	if err != nil {
		return Needs{Error: err.Error()}
	}
	w := &walk{}
	w.visit(expr, setOf(q.Labels...))
	return Needs{Selectors: w.selectors, Compared: compared(expr), Error: w.problem}
}

// set is a set of label names.
type set map[string]bool

func setOf(names ...string) set { return set{}.with(names...) }

// with returns the union of s and names. s is not changed.
func (s set) with(names ...string) set {
	out := set{}
	maps.Copy(out, s)
	for _, n := range names {
		out[n] = true
	}
	return out
}

// without returns s without some names. s is not changed.
func (s set) without(names ...string) set {
	out := set{}
	for n := range s {
		if !slices.Contains(names, n) {
			out[n] = true
		}
	}
	return out
}

func (s set) sorted() []string { return slices.Sorted(maps.Keys(s)) }

// walk visits an expression from its root, and passes down the labels that the outer expression
// needs.
type walk struct {
	selectors []Selector
	problem   string
}

func (w *walk) wrong(format string, args ...any) {
	if w.problem == "" {
		w.problem = fmt.Sprintf(format, args...)
	}
}

func (w *walk) visit(n parser.Expr, need set) {
	switch n := n.(type) {
	case *parser.VectorSelector:
		w.selector(n, need)
	case *parser.MatrixSelector:
		w.visit(n.VectorSelector, need)
	case *parser.SubqueryExpr:
		w.visit(n.Expr, need)
	case *parser.ParenExpr:
		w.visit(n.Expr, need)
	case *parser.UnaryExpr:
		w.visit(n.Expr, need)
	case *parser.StepInvariantExpr:
		w.visit(n.Expr, need)
	case *parser.AggregateExpr:
		w.aggregate(n, need)
	case *parser.BinaryExpr:
		w.binary(n, need)
	case *parser.Call:
		w.call(n, need)
	case *parser.NumberLiteral, *parser.StringLiteral:
	default:
		w.wrong("%T is not understood", n)
	}
}

func (w *walk) selector(n *parser.VectorSelector, need set) {
	for _, m := range n.LabelMatchers {
		if m.Name != model.MetricNameLabel {
			need = need.with(m.Name)
		}
	}
	if n.Name == "" {
		w.wrong("%s names no metric", n)
	}
	w.selectors = append(w.selectors, Selector{Metric: n.Name, Labels: need.sorted()})
}

func (w *walk) aggregate(n *parser.AggregateExpr, need set) {
	if n.Param != nil && n.Op != parser.COUNT_VALUES {
		w.visit(n.Param, nil)
	}
	if n.Op == parser.COUNT_VALUES {
		need = need.without(n.Param.(*parser.StringLiteral).Val)
	}
	if n.Op == parser.TOPK || n.Op == parser.BOTTOMK || n.Op == parser.LIMITK || n.Op == parser.LIMIT_RATIO {
		w.visit(n.Expr, need.with(n.Grouping...)) // the series stay as they are
		return
	}
	for name := range need {
		if slices.Contains(n.Grouping, name) == n.Without {
			w.wrong("the label %s is read from the result of %s, which has it no more", name, n)
		}
	}
	w.visit(n.Expr, need.with(n.Grouping...))
}

func (w *walk) binary(n *parser.BinaryExpr, need set) {
	if n.LHS.Type() != parser.ValueTypeVector || n.RHS.Type() != parser.ValueTypeVector {
		for _, side := range []parser.Expr{n.LHS, n.RHS} {
			if side.Type() == parser.ValueTypeVector {
				w.visit(side, need)
			} else {
				w.visit(side, nil)
			}
		}
		return
	}
	m := n.VectorMatching
	matched := setOf()
	if m.On {
		matched = setOf(m.MatchingLabels...)
	}
	switch {
	case n.Op == parser.LOR:
		w.either(n, need.with(matched.sorted()...))
	case n.Op == parser.LAND || n.Op == parser.LUNLESS || m.Card == parser.CardManyToOne:
		w.visit(n.LHS, need.without(m.Include...).with(matched.sorted()...))
		w.visit(n.RHS, matched.with(m.Include...))
	case m.Card == parser.CardOneToMany:
		w.visit(n.LHS, matched.with(m.Include...))
		w.visit(n.RHS, need.without(m.Include...).with(matched.sorted()...))
	default:
		for name := range need {
			if m.On != slices.Contains(m.MatchingLabels, name) {
				w.wrong("the label %s is read from the result of %s, which has it no more", name, n)
			}
		}
		w.visit(n.LHS, need.with(matched.sorted()...))
		w.visit(n.RHS, need.with(matched.sorted()...))
	}
}

// either visits both sides of an "or". vector(0), which dashboards use in place of an empty result,
// needs no labels.
func (w *walk) either(n *parser.BinaryExpr, need set) {
	for _, side := range []parser.Expr{n.LHS, n.RHS} {
		if call, ok := side.(*parser.Call); ok && call.Func.Name == "vector" {
			w.visit(side, nil)
			continue
		}
		w.visit(side, need)
	}
}

func (w *walk) call(n *parser.Call, need set) {
	switch n.Func.Name {
	case "absent", "absent_over_time", "vector", "scalar", "time":
		need = nil
	case "histogram_quantile":
		need = need.with("le")
	case "label_replace":
		need = need.without(text(n.Args[1])).with(text(n.Args[3]))
	case "label_join":
		need = need.without(text(n.Args[1]))
		for _, source := range n.Args[3:] {
			need = need.with(text(source))
		}
	}
	for _, arg := range n.Args {
		if t := arg.Type(); t == parser.ValueTypeVector || t == parser.ValueTypeMatrix {
			w.visit(arg, need)
		} else {
			w.visit(arg, nil)
		}
	}
}

func text(n parser.Expr) string {
	if s, ok := n.(*parser.StringLiteral); ok {
		return s.Val
	}
	return ""
}
