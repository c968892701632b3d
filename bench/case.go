package main

import (
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/bench/internal/load"
	"github.com/mcpedge/mcpedge/bench/internal/stats"
)

// benchCase is one question: it puts the same work to its subjects, round by round, and claims something
// about their figures.
type benchCase struct {
	// name is lower case, words between hyphens; where it ends in a number, that is the connections'.
	name string
	// start starts the subjects, whose processes end with the case.
	start  func(*fleet) ([]subject, error)
	claims []claim
	// rounds of the case, unless the command line says otherwise.
	rounds int
	// slice is the length of one measurement, unless the command line says otherwise; 0: usual.
	slice time.Duration
	// cold: each round has processes of its own, and none goes before those that count.
	cold bool
}

// Rounds: as many as show what a bound asks for, more where it is about a few percent, and fewer where
// nothing is asked.
const (
	fine  = 600
	shown = 30
	some  = 8
)

// usual is how long a measurement takes, brief where it is about a few percent: what the machine does to
// one subject it does to the next as well, and it is the number of rounds that makes intervals narrow.
const usual, brief = 400 * time.Millisecond, 60 * time.Millisecond

// processes of each kind share the rounds where it is about a few percent, and where a bound is near.
const processes = 4

// subject is one server under work.
type subject struct {
	name string
	// proc is the process whose CPU time and allocations count, and that is profiled; nil: none.
	proc *process
	// round works for about d and says what it found. No two rounds run at once.
	round func(d time.Duration) (sample, error)
	// turns, where there are any, take the rounds in turn. The subject itself is one of them.
	turns []subject
}

// turn is who takes a round.
func (s subject) turn(round int) subject {
	if len(s.turns) == 0 {
		return s
	}
	return s.turns[round%len(s.turns)]
}

// inTurn makes one subject of all that have the same name: processes of one program differ by a percent or
// two in what they got of the machine's memory, for as long as they live.
func inTurn(all []subject) []subject {
	var subjects []subject
	for _, s := range all {
		i := slices.IndexFunc(subjects, func(one subject) bool { return one.name == s.name })
		if i < 0 {
			i = len(subjects)
			subjects = append(subjects, s)
		}
		subjects[i].turns = append(subjects[i].turns, s)
	}
	return subjects
}

// nearItsBound measures a case with several processes of each kind, in more and shorter rounds than others.
func (c benchCase) nearItsBound() benchCase {
	c.start, c.rounds, c.slice = several(c.start), processes*shown, usual/2
	return c
}

// several starts what start does more than once, for processes that take turns.
func several(start func(*fleet) ([]subject, error)) func(*fleet) ([]subject, error) {
	return func(f *fleet) ([]subject, error) {
		var all []subject
		for range processes {
			subjects, err := start(f)
			if err != nil {
				return nil, err
			}
			all = append(all, subjects...)
		}
		return inTurn(all), nil
	}
}

// sample is what one round found.
type sample struct {
	// calls are the units of work done, by which CPU time and allocations are divided; 0: they are not.
	calls  int
	values map[metric]float64
}

// metric is a figure, named by its unit.
type metric string

const (
	callRate  metric = "calls/s"
	cpuTime   metric = "CPU-µs/call"
	allocs    metric = "allocs/call"
	p50       metric = "p50-ms"
	p99       metric = "p99-ms"
	eventP50  metric = "event-p50-ms"
	eventP99  metric = "event-p99-ms"
	rss       metric = "resident-B/session"
	live      metric = "live-B/session"
	resident  metric = "resident-MiB"
	anonymous metric = "anonymous-MiB"
	medianLag metric = "median-ms"
	lastLag   metric = "last-ms"
	ready     metric = "ready-ms"
	size      metric = "MiB"
)

// metrics in the order in which they are printed, each as a Go benchmark has it.
var metrics = []struct {
	metric
	unit  string
	value func(float64) float64
}{
	{callRate, "ns/op", func(v float64) float64 { return 1e9 / v }},
	{p50, "p50-ns", times(1e6)},
	{p99, "p99-ns", times(1e6)},
	{cpuTime, "cpu-ns/op", times(1e3)},
	{allocs, "allocs/op", times(1)},
	{eventP50, "event-p50-ns", times(1e6)},
	{eventP99, "event-p99-ns", times(1e6)},
	{rss, "resident-B/session", times(1)},
	{live, "live-B/session", times(1)},
	{resident, "resident-B", times(1 << 20)},
	{anonymous, "anonymous-B", times(1 << 20)},
	{medianLag, "median-ns", times(1e6)},
	{lastLag, "last-ns", times(1e6)},
	{ready, "ready-ns", times(1e6)},
	{size, "file-B", times(1 << 20)},
}

func times(f float64) func(float64) float64 { return func(v float64) float64 { return v * f } }

// claim is what a case compares: a figure of one subject, over or minus that of another, or by itself.
type claim struct {
	metric metric
	of     string
	// over is the other subject; "": the figure itself.
	over string
	// minus: the difference to it, not the ratio.
	minus bool
	// bound that the figure is to keep; zero: none.
	bound stats.Bound
}

// ratio claims nothing but tells the ratio.
func ratio(m metric, of, over string) claim { return claim{metric: m, of: of, over: over} }

// figureOf tells a subject's own.
func figureOf(m metric, of string) claim { return claim{metric: m, of: of} }

func (c claim) atLeast(v float64) claim { c.bound = stats.AtLeast(v); return c }
func (c claim) atMost(v float64) claim  { c.bound = stats.AtMost(v); return c }

// under is the subject that makes the same call on so many connections, or several calls in turn.
func under(name string, p *process, connections int, calls ...load.Call) subject {
	return subject{name: name, proc: p, round: func(d time.Duration) (sample, error) {
		r, err := load.Run(p.addr, calls, connections, d)
		if err != nil {
			return sample{}, err
		}
		s := sample{calls: r.Calls, values: map[metric]float64{
			callRate: r.PerSecond(),
			p50:      millis(stats.Quantile(r.Latencies, 0.5)),
			p99:      millis(stats.Quantile(r.Latencies, 0.99)),
		}}
		if len(r.Delays) > 0 {
			s.values[eventP50] = millis(stats.Quantile(r.Delays, 0.5))
			s.values[eventP99] = millis(stats.Quantile(r.Delays, 0.99))
		}
		return s, nil
	}}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
