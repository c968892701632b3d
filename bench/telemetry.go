package main

import "fmt"

// telemetry measures what it costs to be observed: the same edge with telemetry disabled, as it is by
// default (metrics, no traces), with a log line for each request, and with traces of which 1 % or all are
// sampled and sent to a collector. The edges are started for the case alone.
func (f *fleet) telemetry() []benchCase {
	var cases []benchCase
	for _, era := range []string{"modern", "legacy"} {
		cases = append(cases, benchCase{name: "telemetry-" + era + "-8", connections: 8, costs: true, start: func() ([]subject, error) {
			if err := f.startObserved(); err != nil {
				return nil, err
			}
			var subjects []subject
			for _, o := range f.observed {
				s := modern(o.name, o.proc)
				if era == "legacy" {
					var err error
					if s, err = legacy(o.name, o.proc, echo); err != nil {
						return nil, err
					}
				}
				subjects = append(subjects, s)
			}
			return subjects, nil
		}})
	}
	return cases
}

// observedEdge is an edge under some kind of observation.
type observedEdge struct {
	name string
	proc *process
}

// startObserved starts the edges, once. The one that is not observed comes first.
func (f *fleet) startObserved() error {
	if f.observed != nil {
		return nil
	}
	sink, err := f.runPrinting("sink")
	if err != nil {
		return err
	}
	exported := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + sink.addr, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}
	for _, o := range []struct {
		name, level string
		env         []string
	}{
		{"disabled", "warn", []string{"OTEL_SDK_DISABLED=true"}},
		{"default", "warn", nil},
		{"lines", "info", nil},
		{"1 %", "warn", append([]string{"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01"}, exported...)},
		{"100 %", "warn", exported},
	} {
		p, err := f.startEdgeIn(o.env, "--backend", "bench="+f.service, "--log-level", o.level)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		f.observed = append(f.observed, observedEdge{o.name, p})
	}
	return nil
}

// mostCost is what being observed may cost, of throughput and of CPU time.
const mostCost = 0.03

func (c cost) String() string {
	verdict := "not shown"
	if c.Throughput.Low >= 1-mostCost && c.CPU.High <= 1+mostCost {
		verdict = "yes"
	}
	return fmt.Sprintf("throughput %s   CPU per call %s   at most %.0f %%: %s", c.Throughput, c.CPU, 100*mostCost, verdict)
}
