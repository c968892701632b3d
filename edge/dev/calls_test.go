package dev

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// shape returns a waterfall as text, one line per row.
func shape(w waterfall) (out []string) {
	for _, r := range w.Spans {
		line := fmt.Sprintf("%*s%s %s %.0f+%.0f", r.Depth*2, "", r.Role, r.Name, r.Start/1e3, r.Duration/1e3)
		if r.Round > 0 {
			line += fmt.Sprint(" round ", r.Round)
		}
		if r.Reason != "" {
			line += " " + r.Reason
		}
		if r.Wait {
			line += " wait"
		}
		if r.Running {
			line += " running"
		}
		out = append(out, line)
	}
	return out
}

// only returns the single call.
func only(t *testing.T, s *Store) (waterfall, summary) {
	t.Helper()
	p := arrange(s.snapshot())
	if len(p.calls) != 1 {
		t.Fatalf("%d calls, want one", len(p.calls))
	}
	w := p.waterfall(p.calls[0], time.Now())
	return w, w.Call
}

// A call of a tool that the catalog renames has both names.
func TestNamesOfACall(t *testing.T) {
	s := NewStore(Options{})
	_, op := operation(context.Background(), tracer(t, s, "mcpedge", telemetry.Scope), "book", 1, at(0))
	op.SetAttributes(telemetry.AttrShown.String("book_a_trip"))
	op.End(at(10))
	if _, c := only(t, s); c.Target != "book" || c.Shown != "book_a_trip" {
		t.Errorf("the call is %+v", c)
	}
}

// A call without a session comes in several requests, here each in its own trace.
func TestCallOfSeveralRequests(t *testing.T) {
	s := NewStore(Options{})
	edge, grpc := tracer(t, s, "mcpedge", telemetry.Scope), tracer(t, s, "mcpedge", "otelgrpc")
	ctx, first := operation(context.Background(), edge, "book", 1, at(0))
	ctx, out := grpc.Start(ctx, "Call", trace.WithSpanKind(trace.SpanKindClient), at(1))
	ctx, in := grpc.Start(ctx, "Call", trace.WithSpanKind(trace.SpanKindServer), at(2))
	_, own := grpc.Start(ctx, "query", trace.WithSpanKind(trace.SpanKindClient), at(3))
	own.End(at(4))
	in.End(at(5))
	out.End(at(6))
	first.SetAttributes(outcome("input_required"), telemetry.AttrBackend.String("trips"))
	first.End(at(10))
	_, second := operation(context.Background(), edge, "book", 2, at(1000), because(telemetry.ReasonAnswered, first))
	second.SetAttributes(outcome("ok"))
	second.End(at(1010))
	w, c := only(t, s)
	want := []string{
		"edge tools/call book 0+10 round 1",
		"  grpc Call 1+5",
		"    backend Call 2+3",
		"      backend query 3+1",
		"client the client answers 10+990 wait",
		"edge tools/call book 1000+10 round 2 answered",
	}
	if diff := cmp.Diff(want, shape(w)); diff != "" {
		t.Error(diff)
	}
	if got := w.Spans[2].Service; got != "trips" {
		t.Errorf("the backend in the edge's process is called %q", got)
	}
	if c.Rounds != 2 || c.Outcome != "ok" || c.Duration != 1010e3 || c.Busy != 20e3 || c.Spans != 5 || c.Failed || c.Target != "book" {
		t.Errorf("%+v", c)
	}
}

// Within a session the edge asks the client itself, and continues in the same trace, here after a
// takeover.
func TestCallOfASession(t *testing.T) {
	s := NewStore(Options{})
	edge := tracer(t, s, "mcpedge", telemetry.Scope)
	ctx, first := operation(context.Background(), edge, "book", 1, at(0))
	_, asked := edge.Start(ctx, "elicitation/create", trace.WithSpanKind(trace.SpanKindClient), at(5))
	asked.SetAttributes(telemetry.AttrMethod.String("elicitation/create"))
	asked.End(at(500))
	first.SetAttributes(outcome("input_required"))
	first.End(at(6))
	_, lost := operation(ctx, edge, "book", 2, at(501), because(telemetry.ReasonAnswered, first))
	lost.SetAttributes(outcome("lost"))
	lost.End(at(510))
	_, resumed := edge.Start(context.Background(), "resume", at(520), trace.WithLinks(because(telemetry.ReasonResumed, first)))
	resumed.End(at(521))
	_, again := operation(ctx, edge, "book", 2, at(600), because(telemetry.ReasonTakenOver, lost))
	again.SetStatus(codes.Error, "no seats")
	again.SetAttributes(outcome("unavailable"), telemetry.AttrErrorType.String("-32000"))
	again.End(at(610))
	w, c := only(t, s)
	want := []string{
		"edge tools/call book 0+6 round 1",
		"  client elicitation/create 5+495 wait",
		"edge tools/call book 501+9 round 2 answered",
		"edge tools/call book 600+10 round 3 taken_over",
		"edge resume 520+1 resumed",
	}
	if diff := cmp.Diff(want, shape(w)); diff != "" {
		t.Error(diff)
	}
	if !c.TakenOver || !c.Failed || c.Error != "no seats" || c.Outcome != "unavailable" || c.Rounds != 2 {
		t.Errorf("%+v", c)
	}
}

func TestCallThatRuns(t *testing.T) {
	s := NewStore(Options{})
	_, span := operation(context.Background(), tracer(t, s, "mcpedge", telemetry.Scope), "slow", 1, trace.WithTimestamp(time.Now()))
	w, c := only(t, s)
	if !c.Running || c.Outcome != "" || c.Duration <= 0 || len(w.Spans) != 1 || !w.Spans[0].Running {
		t.Errorf("%+v, %q", c, shape(w))
	}
	span.End()
	if _, c = only(t, s); c.Running {
		t.Errorf("after its end: %+v", c)
	}
}

// A client that exports its spans sees the call below them. If it has one trace for all its calls,
// each call is separate.
func TestCallsBelowTheirClient(t *testing.T) {
	s := NewStore(Options{})
	edge, client := tracer(t, s, "mcpedge", telemetry.Scope), tracer(t, s, "agent", "agent")
	ctx, turn := client.Start(context.Background(), "turn", at(-10))
	for i := range 2 {
		_, op := operation(ctx, edge, fmt.Sprint("tool", i), 1, at(i*100))
		op.End(at(i*100 + 10))
	}
	turn.End(at(200))
	p := arrange(s.snapshot())
	if len(p.calls) != 2 {
		t.Fatalf("%d calls", len(p.calls))
	}
	want := []string{"client turn -110+210", "  edge tools/call tool1 0+10"}
	if diff := cmp.Diff(want, shape(p.waterfall(p.calls[0], time.Now()))); diff != "" {
		t.Error(diff)
	}
}

// Spans are foreign input: cycles of parents and links end.
func TestCirclesEnd(t *testing.T) {
	s := NewStore(Options{})
	edge := tracer(t, s, "mcpedge", telemetry.Scope)
	_, a := operation(context.Background(), edge, "a", 1, at(0))
	a.End(at(1))
	all, _ := s.snapshot()
	one, two := *all[0], *all[0]
	one.key.span, two.key.span = trace.SpanID{1}, trace.SpanID{2}
	one.parent, two.parent = two.key.span, one.key.span
	why := []attr{{string(telemetry.AttrReason), string(telemetry.ReasonAnswered)}}
	one.links, two.links = []link{{two.key, why}}, []link{{one.key, why}}
	three := *all[0]
	three.key.span, three.parent = trace.SpanID{3}, trace.SpanID{3}
	three.attrs = nil
	s.add([]*span{&one, &two, &three})
	p := arrange(s.snapshot())
	for _, c := range p.calls {
		if w := p.waterfall(c, time.Now()); len(w.Spans) == 0 || len(w.Spans) > 3 {
			t.Errorf("%q", shape(w))
		}
	}
}
