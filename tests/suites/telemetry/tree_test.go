package telemetry

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

var update = flag.Bool("update", false, "write the trees of spans anew")

// awaitTree waits for n spans and compares them with the tree in testdata/NAME.txt.
func (r *rig) awaitTree(n int, name string) {
	r.t.Helper()
	await.Until(r.t, fmt.Sprintf("%d spans", n), func() bool { return len(r.spans.GetSpans()) >= n })
	spans := r.spans.GetSpans()
	r.spans.Reset()
	compareTree(r.t, spans, name)
}

// compareTree holds spans against the tree in testdata/NAME.txt. Lines that begin with "+" are attributes of the span
// above, "*" its events, "~" its links.
func compareTree(t *testing.T, spans tracetest.SpanStubs, name string) {
	t.Helper()
	got, file := tree(spans), "testdata/"+name+".txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: spans are\n%s\nwant\n%s", name, got, want)
	}
}

// tree prints spans under their parents, in the order of their beginnings, those of the edge's own with
// their attributes.
func tree(spans tracetest.SpanStubs) string {
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime), cmp.Compare(a.SpanKind, b.SpanKind))
	})
	p := printer{spans: spans, byID: map[trace.SpanID]int{}}
	for i, s := range spans {
		p.byID[s.SpanContext.SpanID()] = i
	}
	for i, s := range spans {
		if _, ours := p.byID[s.Parent.SpanID()]; !ours {
			p.print(i, 0)
		}
	}
	return p.out.String()
}

type printer struct {
	spans tracetest.SpanStubs
	byID  map[trace.SpanID]int
	out   strings.Builder
}

func (p *printer) print(i, depth int) {
	s := p.spans[i]
	p.line(depth, "%s", p.name(i))
	if s.InstrumentationScope.Name == telemetry.Scope {
		p.attributes(s, depth+1)
	}
	for _, ev := range s.Events {
		text := ev.Name
		for _, kv := range ev.Attributes {
			text += fmt.Sprintf(" %s=%s", kv.Key, kv.Value.String())
		}
		p.line(depth+1, "* %s", text)
	}
	for _, l := range s.Links {
		to := "elsewhere"
		if j, ours := p.byID[l.SpanContext.SpanID()]; ours {
			to = p.name(j)
		}
		p.line(depth+1, "~ %s: %s", l.Attributes[0].Value.AsString(), to)
	}
	for j := range p.spans {
		if p.spans[j].Parent.SpanID() == s.SpanContext.SpanID() {
			if p.spans[j].SpanContext.TraceID() != s.SpanContext.TraceID() {
				p.line(depth+1, "! in another trace")
			}
			p.print(j, depth+1)
		}
	}
}

func (p *printer) attributes(s tracetest.SpanStub, depth int) {
	var list []string
	for _, kv := range s.Attributes {
		value := kv.Value.String()
		switch kv.Key {
		case telemetry.AttrOutcome: // it is shown behind the name
			continue
		case telemetry.AttrSession:
			value = fmt.Sprintf("%d digits", len(value))
		case telemetry.AttrRequestID:
			if len(value) > 4 {
				value = "random"
			}
		}
		list = append(list, fmt.Sprintf("%s=%s", kv.Key, value))
	}
	slices.Sort(list)
	for _, one := range list {
		p.line(depth, "+ %s", one)
	}
}

func (p *printer) name(i int) string {
	s := p.spans[i]
	text := s.SpanKind.String() + " " + s.Name
	if replica := attr(s, "service.instance.id"); replica != "" {
		text += " on " + replica
	}
	// The edge's own spans, and those of an SDK that was told no name, say nothing of it.
	if service := attr(s, "service.name"); service != "" && service != "mcpedge" && !strings.HasPrefix(service, "unknown_service") {
		text += " of " + service
	}
	for _, kv := range s.Attributes {
		if kv.Key == telemetry.AttrOutcome {
			text += ": " + kv.Value.AsString()
		}
	}
	if s.Status.Code == codes.Error {
		text += " ERROR " + s.Status.Description
	}
	return text
}

// attr is an attribute of the span's process.
func attr(s tracetest.SpanStub, key string) string {
	for _, kv := range s.Resource.Attributes() {
		if string(kv.Key) == key {
			return kv.Value.AsString()
		}
	}
	return ""
}

func (p *printer) line(depth int, format string, args ...any) {
	p.out.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&p.out, format+"\n", args...)
}
