package stateful

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// observed adds a recorder of spans to a world's replicas.
func observed(t *testing.T, o *Options) *tracetest.InMemoryExporter {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	tel, err := telemetry.New(t.Context(), telemetry.Options{
		StateSystem: "redis", SpanProcessors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(spans)},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Telemetry = tel
	return spans
}

// story lists spans in the order of their ends, each with its outcome, parent and links.
func story(spans tracetest.SpanStubs) []string {
	names := map[trace.SpanID]string{}
	for i, s := range spans {
		names[s.SpanContext.SpanID()] = fmt.Sprintf("#%d", i)
	}
	var out []string
	for _, s := range spans {
		text := s.SpanKind.String() + " " + s.Name
		for _, kv := range s.Attributes {
			switch kv.Key {
			case telemetry.AttrOutcome:
				text += " " + kv.Value.AsString()
			case telemetry.AttrAttempt, telemetry.AttrRound:
				text += " " + kv.Value.String()
			}
		}
		if s.Status.Code == codes.Error {
			text += " ERROR"
		}
		if s.Parent.IsValid() {
			text += " below " + names[s.Parent.SpanID()]
		}
		for _, l := range s.Links {
			text += " " + l.Attributes[0].Value.AsString() + " " + names[l.SpanContext.SpanID()]
		}
		out = append(out, text)
	}
	return out
}

func wantStory(t *testing.T, spans *tracetest.InMemoryExporter, want ...string) {
	t.Helper()
	if got := story(spans.GetSpans()); !slices.Equal(got, want) {
		t.Errorf("spans are\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	ids := map[trace.TraceID]bool{}
	for _, s := range spans.GetSpans() {
		ids[s.SpanContext.TraceID()] = true
	}
	if len(ids) != 1 {
		t.Errorf("%d traces", len(ids))
	}
}

// A takeover is a span of the call's trace, linked to the run of the lost replica. That replica's
// own span records that it lost the call.
func TestTakeoverIsLinked(t *testing.T) {
	var o Options
	spans := observed(t, &o)
	inWorld(t, o, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		spans.Reset()
		w.backend.tools["safe"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(float64(c.Attempt)))
			if c.Attempt == 1 {
				<-ctx.Done()
				return mcp.Reply{}, context.Cause(ctx)
			}
			return text("again"), nil
		}
		x := w.post(w.a, s, callTool(1, "safe"))
		w.lose()
		after(10 * time.Second)
		if len(x.messages()) == 0 {
			t.Fatal("nothing was sent")
		}
		w.a.Close() // ends the run of the lost replica
		after(time.Second)
		wantStory(t, spans,
			"client state.begin below #4",
			"client state.claim below #4",
			"client state.finish below #3",
			"internal tools/call safe 1 2 ok below #4 taken_over #4",
			"server tools/call safe 1 1 lost")
	})
}

// A call whose outcome is unknown ends as an error in the call's trace.
func TestUnknownOutcomeIsLinked(t *testing.T) {
	var o Options
	spans := observed(t, &o)
	inWorld(t, o, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		spans.Reset()
		w.backend.tools["unsafe"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			<-ctx.Done()
			return mcp.Reply{}, context.Cause(ctx)
		}
		w.post(w.a, s, callTool(1, "unsafe"))
		w.lose()
		after(10 * time.Second)
		w.a.Close()
		after(time.Second)
		wantStory(t, spans,
			"client state.begin below #4",
			"client state.claim below #4",
			"client state.finish below #3",
			"internal tools/call unsafe 1 2 unknown_outcome ERROR below #4 taken_over #4",
			"server tools/call unsafe 1 1 lost")
	})
}

// Each round is linked to the round that asked, on whichever replica it was answered. The duration
// of the call, including its user's time, is recorded once.
func TestRoundsAreLinked(t *testing.T) {
	var o Options
	spans := observed(t, &o)
	inWorld(t, o, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		spans.Reset()
		w.backend.tools["ask"] = func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			if c.Round > 2 {
				return text("thanks"), nil
			}
			return mcp.Reply{Input: &mcp.InputRequired{Requests: []mcp.InputRequest{elicit("who")}}}, nil
		}
		x := w.post(w.a, s, callTool(1, "ask"))
		for i, replica := range []*Era{w.b, w.a} {
			after(20*time.Second - flushed) // post has waited already
			ask := mustParse(x.messages()[i])
			w.wantAccepted(w.post(replica, s, `{"jsonrpc":"2.0","id":`+ask.ID.Raw()+`,"result":{"action":"accept"}}`))
		}
		after(time.Second)
		wantStory(t, spans,
			"client state.begin below #2",
			"client state.park below #2",
			"server tools/call ask 1 1 input_required",
			"client state.answer below #2",
			"client elicitation/create below #2",
			"client state.park below #6",
			"internal tools/call ask 2 1 input_required below #2 answered #2",
			"client state.answer below #2",
			"client elicitation/create below #6",
			"client state.finish below #10",
			"internal tools/call ask 3 1 ok below #2 answered #6")
		for _, span := range spans.GetSpans() {
			if span.Name == "elicitation/create" && span.EndTime.Sub(span.StartTime) != 20*time.Second {
				t.Errorf("a request to the client took %s, want the 20 s of its user", span.EndTime.Sub(span.StartTime))
			}
		}
		families, err := o.Telemetry.Gatherer().Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() != "mcp_server_operation_duration_seconds" {
				continue
			}
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					h := m.GetHistogram()
					if l.GetValue() == "tools/call" && (h.GetSampleCount() != 1 || h.GetSampleSum() < 40) {
						t.Errorf("%d observations, %v s: want 1 of 40 s", h.GetSampleCount(), h.GetSampleSum())
					}
				}
			}
		}
	})
}

// A request to a client carries its span, so that the client can link its answer.
func TestRequestsToClientsCarryTheirSpan(t *testing.T) {
	var o Options
	spans := observed(t, &o)
	inWorld(t, o, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("one"))
		x := w.post(w.a, s, callTool(1, "ask"))
		message := x.messages()[0]
		promised := telemetry.Promised([]byte(message))
		ask := mustParse(message)
		w.wantAccepted(w.post(w.b, s, `{"jsonrpc":"2.0","id":`+ask.ID.Raw()+`,"error":{"code":-1,"message":"no"}}`))
		after(time.Second)
		for _, span := range spans.GetSpans() {
			if span.Name != "elicitation/create" {
				continue
			}
			if !promised.IsValid() || span.SpanContext.SpanID() != promised.SpanID() || span.SpanContext.TraceID() != promised.TraceID() {
				t.Errorf("the span is %v, the client was sent %v in %s", span.SpanContext, promised, message)
			}
			if span.Status.Code != codes.Error || span.Status.Description != "no" {
				t.Errorf("status %v", span.Status)
			}
			return
		}
		t.Error("no span for the request")
	})
}

// The time that the store takes to create a session is part of the handshake's duration, on success
// and on failure.
func TestHandshakeLastsAsLongAsItsStore(t *testing.T) {
	for _, down := range []bool{false, true} {
		var o Options
		spans := observed(t, &o)
		inWorld(t, o, func(t *testing.T, w *world) {
			w.faults.slow = 300 * time.Millisecond
			w.faults.set(down, false)
			x := w.post(w.a, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+v1125+`"}}`)
			<-x.done
			for _, s := range spans.GetSpans() {
				if took := s.EndTime.Sub(s.StartTime); s.Name != "initialize" || took != 300*time.Millisecond {
					t.Errorf("down %t: %s took %s, want 300ms", down, s.Name, took)
				}
			}
			if n := len(spans.GetSpans()); n != 1 {
				t.Errorf("down %t: %d spans", down, n)
			}
		})
	}
}
