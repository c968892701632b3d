// Package stats turns interleaved rounds into ratios with confidence intervals.
package stats

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Ratio is the geometric mean of per-round ratios with its 95 % confidence interval. Pairing by round
// cancels what the machine does to both sides at once.
type Ratio struct {
	Mean, Low, High float64
	Rounds          int
}

// Of compares two series, round by round; both have the same length, at least 2.
func Of(a, b []float64) Ratio {
	n := float64(len(a))
	logs := make([]float64, len(a))
	mean := 0.0
	for i := range a {
		logs[i] = math.Log(a[i] / b[i])
		mean += logs[i] / n
	}
	variance := 0.0
	for _, l := range logs {
		variance += (l - mean) * (l - mean) / (n - 1)
	}
	half := student(len(a)-1) * math.Sqrt(variance/n)
	return Ratio{Mean: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half), Rounds: len(a)}
}

// String shows the ratio and its interval.
func (r Ratio) String() string { return fmt.Sprintf("%.2f [%.2f, %.2f]", r.Mean, r.Low, r.High) }

// Shows says whether the interval clears a bound from below: "yes", or "not shown".
func (r Ratio) Shows(atLeast float64) string {
	if r.Low >= atLeast {
		return "yes"
	}
	return "not shown"
}

// Difference is the mean of per-round differences with its 95 % confidence interval.
type Difference struct {
	Mean, Low, High float64
	Rounds          int
}

// Minus subtracts b from a, round by round; both have the same length, at least 2.
func Minus(a, b []float64) Difference {
	n := float64(len(a))
	mean, variance := 0.0, 0.0
	for i := range a {
		mean += (a[i] - b[i]) / n
	}
	for i := range a {
		d := a[i] - b[i] - mean
		variance += d * d / (n - 1)
	}
	half := student(len(a)-1) * math.Sqrt(variance/n)
	return Difference{Mean: mean, Low: mean - half, High: mean + half, Rounds: len(a)}
}

// String shows the difference and its interval.
func (d Difference) String() string { return fmt.Sprintf("%.2f [%.2f, %.2f]", d.Mean, d.Low, d.High) }

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

// Quantile of durations; it sorts d.
func Quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[int(q*float64(len(d)-1))]
}
