package stats

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-3 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestRatioPairsRounds(t *testing.T) {
	// The machine is ten times slower in the second round, for both: the ratio does not feel it.
	r := Ratio([]float64{200, 20, 200}, []float64{100, 10, 100})
	near(t, "the mean", r.Mean, 2)
	near(t, "the low end", r.Low, 2)
	near(t, "the high end", r.High, 2)
	r = Ratio([]float64{1, 4}, []float64{1, 1})
	near(t, "the geometric mean", r.Mean, 2)
	if r.Low >= 2 || r.High <= 2 || r.Rounds != 2 {
		t.Errorf("an interval around 2 of 2 rounds: %+v", r)
	}
}

func TestIntervals(t *testing.T) {
	// 1…5: the mean is 3, the standard error √(2.5/5), and t₄ 2.776.
	i := Of([]float64{1, 2, 3, 4, 5})
	near(t, "the mean", i.Mean, 3)
	near(t, "the low end", i.Low, 3-1.9629)
	near(t, "the high end", i.High, 3+1.9629)
	d := Difference([]float64{5, 6, 7}, []float64{2, 3, 4})
	near(t, "the difference", d.Mean, 3)
	near(t, "its low end", d.Low, 3)
	near(t, "t of 60", student(60), 2.0)
	if got := (Interval{Mean: 1.234, Low: 1.1, High: 1.3}).String(); got != "1.23 [1.10, 1.30]" {
		t.Errorf("it reads %q", got)
	}
}

// Other load in one round of ten leaves the figure alone; the interval covers the mean as often as it says.
func TestDisturbedRoundsDoNotCount(t *testing.T) {
	i := Of([]float64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19})
	j := Of([]float64{10, 11, 12, 13, 14, 15, 16, 17, 18, 1900})
	if i != j {
		t.Errorf("%v became %v", i, j)
	}
	near(t, "the mean", i.Mean, 14.5)
	// Drawn in: 12 12 12 13 14 15 16 17 17 17, whose squares around 14.5 sum up to 42.5; t₅ is 2.571.
	near(t, "the high end", i.High-i.Mean, 2.571*math.Sqrt(42.5/30))
	rnd, covers := rand.New(rand.NewPCG(1, 2)), 0
	const tries = 4000
	for range tries {
		v := make([]float64, 20)
		for k := range v {
			if v[k] = rnd.NormFloat64(); rnd.IntN(10) == 0 {
				v[k] *= 10
			}
		}
		if i := Of(v); i.Low <= 0 && 0 <= i.High {
			covers++
		}
	}
	if share := float64(covers) / tries; share < 0.94 || share > 0.97 {
		t.Errorf("%.3f of the intervals cover the mean", share)
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		bound     Bound
		low, high float64
		want      string
	}{
		{AtLeast(2), 2, 2.5, Yes},
		{AtLeast(2), 1.9, 2.5, NotShown},
		{AtLeast(2), 1.9, 2, NotShown},
		{AtLeast(2), 1.5, 1.99, No},
		{AtMost(1.3), 1.1, 1.3, Yes},
		{AtMost(1.3), 1.1, 1.31, NotShown},
		{AtMost(1.3), 1.31, 1.4, No},
		{AtMost(0), -2, -1, Yes},
		{Bound{}, 1, 2, ""},
	} {
		if got := c.bound.Verdict(Interval{Mean: (c.low + c.high) / 2, Low: c.low, High: c.high}); got != c.want {
			t.Errorf("[%v, %v] is %q by %q, want %q", c.low, c.high, got, c.bound, c.want)
		}
	}
	if AtLeast(0.8).String() != "≥ 0.8" || AtMost(150).String() != "≤ 150" || (Bound{}).String() != "" {
		t.Error("bounds read", AtLeast(0.8), AtMost(150), Bound{})
	}
}

func TestQuantile(t *testing.T) {
	d := []time.Duration{5, 1, 4, 2, 3}
	if Quantile(d, 0.5) != 3 || Quantile(d, 1) != 5 || Quantile(d, 0) != 1 || Quantile(nil, 0.5) != 0 {
		t.Error("quantiles of 1…5", Quantile(d, 0), Quantile(d, 0.5), Quantile(d, 1))
	}
}
