// Package stats turns interleaved rounds into figures with 95 % confidence intervals.
package stats

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Interval is a figure with its 95 % confidence interval, from so many rounds.
type Interval struct {
	Mean   float64 `json:"mean"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Rounds int     `json:"rounds"`
}

// String shows the figure and its interval.
func (i Interval) String() string {
	digits := 2
	if math.Abs(i.Mean) >= 100 {
		digits = 0
	}
	return fmt.Sprintf("%.*f [%.*f, %.*f]", digits, i.Mean, digits, i.Low, digits, i.High)
}

// Ratio is the geometric mean of the ratios of two series, round by round; both have the same length, at
// least 2. Pairing by round cancels what the machine does to both sides at once.
func Ratio(a, b []float64) Interval {
	logs := make([]float64, len(a))
	for i := range a {
		logs[i] = math.Log(a[i] / b[i])
	}
	of := Of(logs)
	return Interval{Mean: math.Exp(of.Mean), Low: math.Exp(of.Low), High: math.Exp(of.High), Rounds: of.Rounds}
}

// Difference is the mean of what a has more than b, round by round; both have the same length, at least 2.
func Difference(a, b []float64) Interval {
	differences := make([]float64, len(a))
	for i := range a {
		differences[i] = a[i] - b[i]
	}
	return Of(differences)
}

// Of is the mean of a series of at least 2; from 10 on the mean without the lowest and the highest fifth, so that a
// round which other load disturbed does not count. The interval is Yuen's: from the variance of the series
// with those values drawn in to the ones that are left.
func Of(v []float64) Interval {
	sorted := slices.Sorted(slices.Values(v))
	cut := 0
	if len(v) >= 10 {
		cut = len(v) / 5
	}
	kept := sorted[cut : len(v)-cut]
	for i := range cut {
		sorted[i], sorted[len(v)-1-i] = kept[0], kept[len(kept)-1]
	}
	n := float64(len(kept))
	center, squares := Mean(sorted), 0.0
	for _, x := range sorted {
		squares += (x - center) * (x - center)
	}
	half := student(len(kept)-1) * math.Sqrt(squares/(n*(n-1)))
	mean := Mean(kept)
	return Interval{Mean: mean, Low: mean - half, High: mean + half, Rounds: len(v)}
}

// student is the two-sided 95 % quantile of Student's t.
func student(df int) float64 {
	table := []float64{0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086}
	if df < len(table) {
		return table[df]
	}
	return 1.96 + 2.4/float64(df)
}

// Mean of a series.
func Mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// Quantile of durations; it sorts d. Of none, it is 0.
func Quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[int(q*float64(len(d)-1))]
}

// Bound is what a figure must keep to. The zero Bound asks for nothing.
type Bound struct {
	Value float64
	// Most: the figure must not be above the value, else not below it.
	Most bool
}

// AtLeast bounds from below.
func AtLeast(v float64) Bound { return Bound{Value: v} }

// AtMost bounds from above.
func AtMost(v float64) Bound { return Bound{Value: v, Most: true} }

// String shows the bound; the zero Bound is empty.
func (b Bound) String() string {
	switch {
	case b == Bound{}:
		return ""
	case b.Most:
		return fmt.Sprintf("≤ %g", b.Value)
	}
	return fmt.Sprintf("≥ %g", b.Value)
}

// The verdicts.
const (
	Yes      = "yes"
	No       = "no"
	NotShown = "not shown"
)

// Verdict says whether a figure keeps to the bound: Yes when its whole interval does, No when no part of
// it does, else NotShown. The zero Bound has none, "".
func (b Bound) Verdict(i Interval) string {
	if b == (Bound{}) {
		return ""
	}
	low, high, value := i.Low, i.High, b.Value
	if b.Most {
		low, high, value = -i.High, -i.Low, -b.Value
	}
	switch {
	case low >= value:
		return Yes
	case high < value:
		return No
	}
	return NotShown
}
