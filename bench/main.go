// Command bench is the one measure of the edge's speed. It starts the edge, a tool service, the bare
// bridge (see bench/bridge) and the official Go SDK's server (see bench/sdk), each a process of its
// own, and drives the same tool call through all of them in interleaved rounds. What it reports first
// are ratios from within the run, with 95 % intervals: absolute figures depend on the machine.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/mcpedge/mcpedge/bench/internal/load"
	"github.com/mcpedge/mcpedge/bench/internal/stats"
)

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 20, "interleaved rounds")
	slice := flag.Duration("slice", 400*time.Millisecond, "length of one measurement")
	out := flag.String("json", "", "write the results to this `file`")
	only := flag.String("case", "", "run only the case of this name")
	flag.Parse()
	if err := run(*rounds, *slice, *out, *only); err != nil {
		log.Fatal("bench: ", err)
	}
}

func run(rounds int, slice time.Duration, out, only string) error {
	f, err := startFleet()
	if err != nil {
		return err
	}
	defer f.stop()
	cases, err := f.cases()
	if err != nil {
		return err
	}
	var reports []report
	for _, c := range cases {
		if only != "" && c.name != only {
			continue
		}
		if c.start != nil {
			if c.subjects, err = c.start(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		r, err := measure(c, rounds, slice)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		r.print()
		reports = append(reports, r)
	}
	if out == "" {
		return nil
	}
	data, err := json.MarshalIndent(reports, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(data, '\n'), 0o644)
}

// benchCase is one way to call, on a number of connections, through each subject.
type benchCase struct {
	name        string
	connections int
	subjects    []subject // the edge first
	// start, if set, makes the subjects when the case's turn comes.
	start func() ([]subject, error)
	// costs: what the others cost, compared with the first, is what the case is about.
	costs bool
}

// cost is a subject's throughput and CPU time per call, over those of the first subject.
type cost struct {
	Throughput stats.Ratio `json:"throughput"`
	CPU        stats.Ratio `json:"cpuPerCall"`
}

// subject is one server under load.
type subject struct {
	name   string
	target load.Target
	proc   *process
}

// report is the outcome of one case, as printed and as written.
type report struct {
	Case     string                 `json:"case"`
	Ratios   map[string]stats.Ratio `json:"edgeOver"`
	Subjects []subjectReport        `json:"subjects"`
	// Later is by how much, in milliseconds, an event comes later than through the first subject: p50, p99.
	Later map[string][2]stats.Difference `json:"eventsLaterMillis,omitempty"`
	// Costs over the first subject.
	Costs map[string]cost `json:"costs,omitempty"`
}

type subjectReport struct {
	Name          string  `json:"name"`
	CallsPerSec   float64 `json:"callsPerSecond"`
	P50, P99      float64 // milliseconds
	CPUPerCall    float64 `json:"cpuMicrosPerCall"`
	AllocsPerCall float64 `json:"allocsPerCall,omitempty"`
	EventP50      float64 `json:"eventP50Millis,omitempty"`
	EventP99      float64 `json:"eventP99Millis,omitempty"`
}

// measure runs the rounds; the order of the subjects turns from round to round.
func measure(c benchCase, rounds int, slice time.Duration) (report, error) {
	n := len(c.subjects)
	perSecond := make([][]float64, n)
	latencies := make([][]time.Duration, n)
	calls := make([]int, n)
	cpu := make([]time.Duration, n)
	mallocs := make([]uint64, n)
	perCall := make([][]float64, n) // CPU time, by round
	delays := make([][]time.Duration, n)
	var late [2][][]float64 // p50 and p99 of the events' delays, by subject and round
	for i := range late {
		late[i] = make([][]float64, n)
	}
	for round := -1; round < rounds; round++ { // the first is for warming up
		for i := range n {
			k := (i + max(round, 0)) % n
			s := c.subjects[k]
			before, err := s.proc.usage()
			if err != nil {
				return report{}, err
			}
			res, err := load.Run(s.target, c.connections, slice)
			if err != nil {
				return report{}, fmt.Errorf("%s: %w", s.name, err)
			}
			after, err := s.proc.usage()
			if err != nil {
				return report{}, err
			}
			if round < 0 {
				continue
			}
			perSecond[k] = append(perSecond[k], res.PerSecond())
			latencies[k] = append(latencies[k], res.Latencies...)
			if len(res.Delays) > 0 {
				delays[k] = append(delays[k], res.Delays...)
				late[0][k] = append(late[0][k], millis(stats.Quantile(res.Delays, 0.5)))
				late[1][k] = append(late[1][k], millis(stats.Quantile(res.Delays, 0.99)))
			}
			calls[k] += res.Calls
			cpu[k] += after.cpu - before.cpu
			perCall[k] = append(perCall[k], float64(after.cpu-before.cpu)/float64(res.Calls))
			mallocs[k] += after.mallocs - before.mallocs
		}
	}
	r := report{Case: c.name, Ratios: map[string]stats.Ratio{}, Later: map[string][2]stats.Difference{}, Costs: map[string]cost{}}
	for k, s := range c.subjects {
		if k > 0 && c.costs {
			r.Costs[s.name] = cost{stats.Of(perSecond[k], perSecond[0]), stats.Of(perCall[k], perCall[0])}
		} else if k > 0 {
			r.Ratios[s.name] = stats.Of(perSecond[0], perSecond[k])
			if len(late[0][k]) > 0 && len(late[0][0]) > 0 {
				r.Later[s.name] = [2]stats.Difference{stats.Minus(late[0][k], late[0][0]), stats.Minus(late[1][k], late[1][0])}
			}
		}
		r.Subjects = append(r.Subjects, subjectReport{
			Name: s.name, CallsPerSec: stats.Mean(perSecond[k]),
			P50: millis(stats.Quantile(latencies[k], 0.5)), P99: millis(stats.Quantile(latencies[k], 0.99)),
			CPUPerCall:    float64(cpu[k].Microseconds()) / float64(calls[k]),
			AllocsPerCall: float64(mallocs[k]) / float64(calls[k]),
			EventP50:      millis(stats.Quantile(delays[k], 0.5)), EventP99: millis(stats.Quantile(delays[k], 0.99)),
		})
	}
	return r, nil
}

func (r report) print() {
	fmt.Printf("\n%s\n", r.Case)
	for _, s := range r.Subjects[1:] {
		if c, ok := r.Costs[s.Name]; ok {
			fmt.Printf("  %-7s / %s: %s\n", s.Name, r.Subjects[0].Name, c)
			continue
		}
		fmt.Printf("  edge / %-7s %s\n", s.Name, r.Ratios[s.Name])
		if later, ok := r.Later[s.Name]; ok {
			fmt.Printf("  an event through %s comes later by %s ms at p50, %s ms at p99\n", s.Name, later[0], later[1])
		}
	}
	for _, s := range r.Subjects {
		allocs := "      –"
		if s.AllocsPerCall > 0 {
			allocs = fmt.Sprintf("%7.0f", s.AllocsPerCall)
		}
		fmt.Printf("  %-14s %9.0f calls/s   p50 %6.2f ms   p99 %6.2f ms   %6.1f CPU-µs/call   %s allocs/call\n",
			s.Name, s.CallsPerSec, s.P50, s.P99, s.CPUPerCall, allocs)
		if s.EventP50 > 0 {
			fmt.Printf("  %-14s an event takes p50 %.2f ms, p99 %.2f ms from the tool to the client\n", "", s.EventP50, s.EventP99)
		}
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
