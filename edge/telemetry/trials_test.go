package telemetry

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// outcomes keeps what is reported of the requests that have ended.
type outcomes struct {
	Auditor
	would [][]mcp.Trial
}

func (o *outcomes) Ended(a *Audited, _ string, _ int, _ time.Duration) {
	o.would = append(o.would, a.Trials())
}

// A trial is counted each time, and is in the outcome of its request once, and in that of the task that the request has created.
func TestTrials(t *testing.T) {
	tel, kept := newTelemetry(t, Options{}), &outcomes{}
	tel.Audit(kept)
	one, two := mcp.Trial{Effect: "deny", By: "policy", Rule: "r"}, mcp.Trial{Effect: "confirm", By: "confirmation", Rule: "c"}
	ctx, op := tel.Begin(t.Context(), &Request{ID: callID, Method: mcp.MethodToolsCall})
	tel.RecordTrial(ctx, one)
	tel.RecordTrial(ctx, one)
	op.End(&Outcome{})
	tel.RecordTrial(context.WithoutCancel(ctx), two)
	ended := &Audited{Task: "x"}
	ended.AddTrials(ctx)
	tel.TaskEnded(ended, &Outcome{}, time.Second)
	if diff := cmp.Diff([][]mcp.Trial{{one}, {one, two}}, kept.would); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	resumed := CollectTrials(t.Context())
	tel.RecordTrial(resumed, two)
	again := &Audited{}
	if again.AddTrials(resumed); len(again.Trials()) != 1 {
		t.Errorf("a task of another replica has %v", again.Trials())
	}
	counted := map[string]float64{}
	tel.trials.observe(func(n float64, attrs ...attribute.KeyValue) {
		counted[fmt.Sprint(attrs[0].Value.AsString(), " ", attrs[1].Value.AsString(), " ", attrs[2].Value.AsString())] = n
	})
	if diff := cmp.Diff(map[string]float64{"policy r deny": 2, "confirmation c confirm": 2}, counted); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Trials of many names make a bounded number of series.
func TestSeriesOfTrialsAreBounded(t *testing.T) {
	tel := newTelemetry(t, Options{})
	for i := range 2 * maxTrials {
		tel.RecordTrial(t.Context(), mcp.Trial{Rule: fmt.Sprint(i)})
	}
	n := 0
	tel.trials.observe(func(float64, ...attribute.KeyValue) { n++ })
	if n != maxTrials {
		t.Errorf("%d series, want %d", n, maxTrials)
	}
	(*Telemetry)(nil).RecordTrial(t.Context(), mcp.Trial{})
}
