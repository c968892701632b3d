package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/bench/internal/stats"
)

// report is the outcome of one case, as printed and as written.
type report struct {
	Case     string          `json:"case"`
	Claims   []finding       `json:"claims"`
	Subjects []subjectReport `json:"subjects"`
	calls    map[string][]int
}

// finding is a claim with what was found.
type finding struct {
	Metric  metric         `json:"metric"`
	Of      string         `json:"of"`
	Over    string         `json:"over,omitempty"`
	Minus   bool           `json:"minus,omitempty"`
	Found   stats.Interval `json:"found"`
	Bound   string         `json:"bound,omitempty"`
	Verdict string         `json:"verdict,omitempty"`
	rounds  []float64      // the figure of each round
}

// subjectReport has the values of all rounds.
type subjectReport struct {
	Name   string               `json:"name"`
	Means  map[metric]float64   `json:"means"`
	Rounds map[metric][]float64 `json:"rounds"`
}

// newReport judges the claims by the series of the rounds.
func newReport(name string, subjects []subject, claims []claim, found series, calls map[string][]int) (report, error) {
	r := report{Case: name, calls: calls}
	for _, c := range claims {
		f, err := c.judge(found)
		if err != nil {
			return r, err
		}
		r.Claims = append(r.Claims, f)
	}
	for _, s := range subjects {
		sr := subjectReport{s.name, map[metric]float64{}, found[s.name]}
		for m, values := range found[s.name] {
			sr.Means[m] = stats.Mean(values)
		}
		r.Subjects = append(r.Subjects, sr)
	}
	return r, nil
}

func (c claim) judge(found series) (finding, error) {
	f := finding{Metric: c.metric, Of: c.of, Over: c.over, Minus: c.minus, Bound: c.bound.String()}
	of, over := found[c.of][c.metric], found[c.over][c.metric]
	if len(of) < 2 || c.over != "" && len(over) != len(of) {
		return f, fmt.Errorf("%d rounds of %s %s and %d of %s: they cannot be compared", len(of), c.of, c.metric, len(over), c.over)
	}
	f.rounds = make([]float64, len(of))
	for i := range of {
		switch {
		case c.over == "":
			f.rounds[i] = of[i]
		case c.minus:
			f.rounds[i] = of[i] - over[i]
		default:
			f.rounds[i] = of[i] / over[i]
		}
	}
	switch {
	case c.over == "":
		f.Found = stats.Of(of)
	case c.minus:
		f.Found = stats.Difference(of, over)
	default:
		f.Found = stats.Ratio(of, over)
	}
	f.Verdict = c.bound.Verdict(f.Found)
	return f, nil
}

// what the claim is about, as in "calls/s edge / sdk".
func (f finding) what() string {
	switch {
	case f.Over == "":
		return fmt.Sprintf("%s %s", f.Metric, f.Of)
	case f.Minus:
		return fmt.Sprintf("%s %s − %s", f.Metric, f.Of, f.Over)
	}
	return fmt.Sprintf("%s %s / %s", f.Metric, f.Of, f.Over)
}

func (f finding) String() string {
	s := fmt.Sprintf("%-40s %s", f.what(), f.Found)
	if f.Verdict != "" {
		s += fmt.Sprintf("   %s: %s", f.Bound, f.Verdict)
	}
	return s
}

// print shows the ratios first: the figures below them depend on the machine.
func (r report) print(w io.Writer, took time.Duration) {
	fmt.Fprintf(w, "\n%s (%.0f s)\n", r.Case, took.Seconds())
	for _, f := range r.Claims {
		fmt.Fprintf(w, "  %s\n", f)
	}
	for _, s := range r.Subjects {
		var figures []string
		for _, m := range metrics {
			if values := s.Rounds[m.metric]; len(values) > 0 {
				figures = append(figures, figure(m.metric, values))
			}
		}
		fmt.Fprintf(w, "  %-14s %s\n", s.Name, strings.Join(figures, "   "))
	}
}

// figure is the mean, and of what is a single event in each round, the most.
func figure(m metric, values []float64) string {
	mean := stats.Mean(values)
	digits := 2
	if mean >= 100 {
		digits = 0
	}
	text := fmt.Sprintf("%9.*f %s", digits, mean, m)
	if m == ready || m == lastLag {
		most := values[0]
		for _, v := range values {
			most = max(most, v)
		}
		text += fmt.Sprintf(" (at most %.0f)", most)
	}
	return text
}

// printVerdicts shows the claims that have a bound.
func printVerdicts(w io.Writer, reports []report) {
	fmt.Fprintf(w, "\nWhat is bounded\n")
	for _, r := range reports {
		for _, f := range r.Claims {
			if f.Verdict != "" {
				fmt.Fprintf(w, "  %-9s  %-26s %-40s %-22s %s\n", f.Verdict, r.Case, f.what(), f.Found, f.Bound)
			}
		}
	}
}
