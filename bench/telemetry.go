package main

import "fmt"

// mostCost is what being observed may cost, of throughput and of CPU time.
const mostCost = 0.03

// observations are ways to be observed; the first is not at all.
var observations = []struct {
	name, level string
	env         []string
	exported    bool
}{
	{name: "disabled", level: "warn", env: []string{"OTEL_SDK_DISABLED=true"}},
	{name: "metrics", level: "warn"},
	{name: "lines", level: "info"},
	{name: "1%", level: "warn", env: []string{"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01"}, exported: true},
	{name: "100%", level: "warn", exported: true},
}

// telemetryCases measure what it costs to be observed: the same edge with telemetry disabled, with metrics
// and no traces, with also a log line for each request as it is by default, and with traces of which 1 %
// or all are sampled and sent to a collector.
func telemetryCases() []benchCase {
	var cases []benchCase
	for _, e := range eras {
		c := benchCase{name: "telemetry-" + e.name + "-8", rounds: fine, slice: brief}
		for _, o := range observations[1:] {
			c.claims = append(c.claims, ratio(callRate, o.name, observations[0].name).atLeast(1-mostCost),
				ratio(cpuTime, o.name, observations[0].name).atMost(1+mostCost))
		}
		c.start = func(f *fleet) ([]subject, error) {
			servers, err := f.observed()
			if err != nil {
				return nil, err
			}
			subjects, err := speaking(e, echo, 8, servers...)
			return inTurn(subjects), err
		}
		cases = append(cases, c)
	}
	return cases
}

// observed are the edges, several of each kind.
func (f *fleet) observed() ([]server, error) {
	backends, err := f.service()
	if err != nil {
		return nil, err
	}
	sink, err := f.printing("sink", nil)
	if err != nil {
		return nil, err
	}
	var servers []server
	for i := range processes * len(observations) {
		o := observations[i%len(observations)]
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
