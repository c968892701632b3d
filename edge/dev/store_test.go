package dev

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// kept counts the contents of a store and recomputes their size.
func kept(t *testing.T, s *Store) (traces, spans, bytes int, dropped uint64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.recent.Front(); e != nil; e = e.Next() {
		b := e.Value.(*bucket)
		if s.traces[b.id] != e || len(b.known) != len(b.ended) {
			t.Errorf("trace %s is not indexed as it is kept", b.id)
		}
		spans += len(b.ended) + len(b.running)
		bytes += overhead * len(b.running)
		for _, sp := range b.ended {
			bytes += sp.bytes
		}
	}
	if bytes != s.bytes || s.recent.Len() != len(s.traces) {
		t.Errorf("the store reckons with %d bytes and %d traces, and has %d and %d", s.bytes, len(s.traces), bytes, s.recent.Len())
	}
	return len(s.traces), spans, bytes, s.dropped
}

func TestStoreIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		o              Options
		traces, each   int // numbers of traces and of spans in each
		value          int // size of an attribute in bytes
		wantTraces     int
		wantSpans      int
		wantDropped    uint64
		lastIsKept     bool
		wantBytesBelow int
	}{
		"traces": {Options{Traces: 3}, 10, 2, 10, 3, 6, 14, true, 10_000},
		"spans":  {Options{Spans: 4}, 2, 10, 10, 2, 8, 12, true, 10_000},
		"bytes":  {Options{Bytes: 20_000}, 10, 1, 5000, 3, 3, 7, true, 20_001},
		"one that is too large for a store is kept alone": {Options{Bytes: 2000}, 2, 1, 5000, 1, 1, 1, true, 10_000},
		"long values are cut":                             {Options{}, 1, 1, 1 << 20, 1, 1, 0, true, maxValue + 1000},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStore(c.o)
			tr := tracer(t, s, "edge", "scope")
			var last trace.Span
			for range c.traces {
				ctx, root := tr.Start(context.Background(), "root")
				for range c.each - 1 {
					_, child := tr.Start(ctx, "child", trace.WithAttributes(attribute.String("k", strings.Repeat("x", c.value))))
					child.End()
				}
				root.SetAttributes(attribute.String("k", strings.Repeat("x", c.value)))
				root.End()
				last = root
			}
			traces, spans, bytes, dropped := kept(t, s)
			if traces != c.wantTraces || spans != c.wantSpans || dropped != c.wantDropped || bytes >= c.wantBytesBelow {
				t.Errorf("%d traces, %d spans, %d bytes, %d dropped", traces, spans, bytes, dropped)
			}
			found := false
			all, _ := s.snapshot()
			for _, sp := range all {
				found = found || sp.key.span == last.SpanContext().SpanID()
			}
			if found != c.lastIsKept {
				t.Errorf("the newest span is kept: %v", found)
			}
		})
	}
}

func TestStoreBoundsWhatRuns(t *testing.T) {
	s := NewStore(Options{Spans: 2})
	tr := tracer(t, s, "edge", "scope")
	ctx, root := tr.Start(context.Background(), "root")
	for range 4 {
		tr.Start(ctx, "never ends")
	}
	if _, spans, _, dropped := kept(t, s); spans != 2 || dropped != 0 {
		t.Errorf("%d spans run, %d dropped; want 2 and none", spans, dropped)
	}
	root.End()
	if _, spans, _, _ := kept(t, s); spans != 2 {
		t.Errorf("%d spans, want one that ended and one that runs", spans)
	}
}

// A trace with new spans is not the oldest one.
func TestStoreDropsWhatIsOldest(t *testing.T) {
	s := NewStore(Options{Traces: 2})
	tr := tracer(t, s, "edge", "scope")
	ctx, first := tr.Start(context.Background(), "first")
	for i := range 5 {
		_, other := tr.Start(context.Background(), "other")
		other.End()
		_, child := tr.Start(ctx, fmt.Sprint("child ", i))
		child.End()
	}
	first.End()
	all, _ := s.snapshot()
	var names []string
	for _, sp := range all {
		names = append(names, sp.name)
	}
	if len(all) != 7 || names[len(names)-1] != "first" {
		t.Errorf("kept: %q", names)
	}
}

func TestStoreTakesASpanOnce(t *testing.T) {
	s := NewStore(Options{})
	_, span := tracer(t, s, "edge", "scope").Start(context.Background(), "x")
	span.End()
	all, _ := s.snapshot()
	s.add(all)
	if _, spans, _, _ := kept(t, s); spans != 1 {
		t.Errorf("%d spans", spans)
	}
}

func TestStoreShowsWhatRuns(t *testing.T) {
	s := NewStore(Options{})
	_, span := tracer(t, s, "edge", "scope").Start(context.Background(), "x")
	span.SetAttributes(attribute.String("set", "later"))
	all, _ := s.snapshot()
	if len(all) != 1 || !all[0].end.IsZero() || all[0].get("set") != "later" {
		t.Errorf("%+v", all)
	}
	span.End()
	if all, _ = s.snapshot(); len(all) != 1 || all[0].end.IsZero() {
		t.Errorf("after its end: %+v", all)
	}
}

func TestStoreAfterShutdown(t *testing.T) {
	s := NewStore(Options{})
	tr := tracer(t, s, "edge", "scope")
	_, before := tr.Start(context.Background(), "before")
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	before.End()
	_, after := tr.Start(context.Background(), "after")
	after.End()
	if traces, spans, bytes, _ := kept(t, s); traces+spans+bytes != 0 {
		t.Errorf("%d traces, %d spans, %d bytes", traces, spans, bytes)
	}
}

func TestStoreUnderManyHands(t *testing.T) {
	s := NewStore(Options{Traces: 8, Spans: 16, Bytes: 100_000})
	tr := tracer(t, s, "edge", "scope")
	changed, stop := s.watch()
	defer stop()
	var hands sync.WaitGroup
	for range 8 {
		hands.Go(func() {
			for range 200 {
				ctx, root := tr.Start(context.Background(), "root")
				_, child := tr.Start(ctx, "child")
				child.AddEvent("event")
				child.End()
				s.snapshot()
				root.End()
			}
		})
	}
	hands.Wait()
	<-changed
	if traces, spans, _, dropped := kept(t, s); traces > 8 || uint64(spans)+dropped != 3200 {
		t.Errorf("%d traces, %d spans, %d dropped", traces, spans, dropped)
	}
}

func TestClip(t *testing.T) {
	long := strings.Repeat("ä", maxValue) // two bytes each
	got := clip(long)
	if !strings.HasSuffix(got, "bytes more)") || len(got) > maxValue+40 || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("clipped to %d bytes, ending in %q", len(got), got[len(got)-40:])
	}
	if got := clip("a\xffb"); got != "a\uFFFDb" {
		t.Errorf("%q", got)
	}
}
