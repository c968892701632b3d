package main

import (
	"fmt"

	"github.com/mcpedge/mcpedge/bench/internal/load"
)

// What being observed may cost, of throughput and of CPU time: as it is by default, and with one of a hundred calls
// sampled.
const (
	mostCost        = 0.03
	mostSampledCost = 0.08
)

// observation is a way to be observed.
type observation struct {
	name, level string
	env         []string
	exported    bool
	// most is what it may cost; 0: there is no bound.
	most float64
}

var (
	// unobserved is what the others are compared with.
	unobserved = observation{name: "disabled", level: "warn", env: []string{"OTEL_SDK_DISABLED=true"}}
	measured   = observation{name: "metrics", level: "warn", most: mostCost}
	logged     = observation{name: "lines", level: "info", most: mostCost}
	sampled    = observation{name: "1%", level: "warn", exported: true, most: mostSampledCost,
		env: []string{"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01"}}
	traced = observation{name: "100%", level: "warn", exported: true}
)

// telemetryCases measure what it costs to be observed: the same edge with telemetry disabled, with metrics
// and no traces, with also a log line for each request as it is by default, and with traces of which 1 %
// or all are sampled and sent to a collector. Then again 1 %, of clients that send a trace context with
// each call: the backend gets one in any case, be it theirs, and the edge's part is what is left.
func telemetryCases() []benchCase {
	var cases []benchCase
	for _, e := range eras {
		cases = append(cases, observedCase("telemetry-"+e.name+"-8", e, echo, measured, logged, sampled, traced))
	}
	for _, e := range eras {
		w := echo
		w.meta = `"traceparent":"` + load.ParentPlaceholder + `"`
		cases = append(cases, observedCase("telemetry-"+e.name+"-traced-8", e, w, sampled))
	}
	return cases
}

// observedCase compares ways to be observed with none.
func observedCase(name string, e era, w work, ways ...observation) benchCase {
	c := benchCase{name: name, rounds: fine, slice: brief}
	for _, o := range ways {
		rate, cost := ratio(callRate, o.name, unobserved.name), ratio(cpuTime, o.name, unobserved.name)
		if o.most > 0 {
			rate, cost = rate.atLeast(1-o.most), cost.atMost(1+o.most)
		}
		c.claims = append(c.claims, rate, cost)
	}
	c.start = func(f *fleet) ([]subject, error) {
		servers, err := f.observed(append([]observation{unobserved}, ways...))
		if err != nil {
			return nil, err
		}
		subjects, err := speaking(e, w, 8, servers...)
		return inTurn(subjects), err
	}
	return c
}

// observed are the edges, several of each kind.
func (f *fleet) observed(ways []observation) ([]server, error) {
	backends, err := f.service()
	if err != nil {
		return nil, err
	}
	sink, err := f.printing("sink", nil)
	if err != nil {
		return nil, err
	}
	var servers []server
	for i := range processes * len(ways) {
		o := ways[i%len(ways)]
		env := o.env
		if o.exported {
			env = append([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + sink.addr, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, env...)
		}
		p, err := f.edgeIn(env, append(backends, "--log-level", o.level)...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.name, err)
		}
		servers = append(servers, server{o.name, p})
	}
	return servers, nil
}
