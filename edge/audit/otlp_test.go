package audit

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// collector is an exporter that keeps records, and rejects them while err is set.
type collector struct {
	got []sdklog.Record
	err error
}

func (c *collector) Export(_ context.Context, records []sdklog.Record) error {
	if c.err != nil {
		return c.err
	}
	for _, r := range records {
		c.got = append(c.got, r.Clone())
	}
	return nil
}

func (*collector) Shutdown(context.Context) error   { return nil }
func (*collector) ForceFlush(context.Context) error { return nil }

// Records are exported with the resource of the process and the trace of the request. Rejected
// records are sent again.
func TestOTLP(t *testing.T) {
	c := &collector{err: errors.New("unavailable")}
	o := newOTLP(c, resource.NewSchemaless(attribute.String("service.name", "mcpedge")))
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{15: 1}, SpanID: trace.SpanID{7: 1}})
	records := []Record{
		{Time: time.Unix(1, 0), Event: EventDecision, Who: Who{Subject: "alice"}, Verdict: Verdict{Effect: StepUp, By: ByPolicy, Rule: "r", Missing: []string{"x", "y"}}, Trace: span},
		{Event: EventOutcome, Outcome: "ok", Duration: time.Second},
	}
	if n, err := o.Write(t.Context(), records); n != 0 || err == nil {
		t.Fatalf("%d were taken: %v", n, err)
	}
	c.err = nil
	write := func(r []Record) {
		if n, err := o.Write(t.Context(), r); n != len(r) || err != nil {
			t.Fatalf("%d were taken: %v", n, err)
		}
	}
	write(records)
	write(records[1:])
	if len(c.got) != 3 {
		t.Fatalf("%d records, want 3", len(c.got))
	}
	r := c.got[0]
	has := map[attribute.Key]attribute.Value{}
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		has[kv.Key] = kv.Value
		return true
	})
	if name, _ := r.Resource().Set().Value("service.name"); name.AsString() != "mcpedge" || r.EventName() != "mcpedge.audit.decision" ||
		r.TraceID() != span.TraceID() || r.Timestamp() != time.Unix(1, 0) || has["mcpedge.audit.subject"].AsString() != "alice" ||
		has["mcpedge.audit.rule"].AsString() != "r" || len(has["mcpedge.audit.missing_scopes"].AsStringSlice()) != 2 {
		t.Errorf("%s %s %v %v", r.EventName(), r.TraceID(), r.Timestamp(), has)
	}
	if err := o.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
