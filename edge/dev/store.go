package dev

import (
	"container/list"
	"context"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options are the limits of a Store. Zero fields mean the defaults.
type Options struct {
	// Traces is the maximum number of traces. Beyond it, the trace without new spans for the
	// longest time is dropped. 0 means 500.
	Traces int
	// Spans is the maximum number of spans per trace. Beyond it, the span that ended first is
	// dropped. 0 means 1,000.
	Spans int
	// Bytes is the approximate maximum memory. Beyond it, whole traces are dropped, as for Traces.
	// 0 means 64 MiB.
	Bytes int
	// Redact returns what now replaces secrets in the texts of spans and tasks, or nil for nothing. It may be nil.
	Redact func() func(text string) string
}

// shown returns what now makes a text one for the page: without secrets, then clipped.
func (o *Options) shown() func(string) string {
	if o.Redact != nil {
		if replace := o.Redact(); replace != nil {
			return func(text string) string { return clip(replace(text)) }
		}
	}
	return clip
}

func (o Options) withDefaults() Options {
	if o.Traces <= 0 {
		o.Traces = 500
	}
	if o.Spans <= 0 {
		o.Spans = 1000
	}
	if o.Bytes <= 0 {
		o.Bytes = 64 << 20
	}
	return o
}

// Store keeps the last traces. NewStore returns one. It is safe for concurrent use.
type Store struct {
	o        Options
	mu       sync.Mutex
	traces   map[trace.TraceID]*list.Element // elements are *bucket
	recent   list.List                       // the trace with the newest span is last
	bytes    int
	dropped  uint64 // ended spans
	watchers map[chan struct{}]struct{}
	closed   bool
}

// bucket holds the spans of one trace.
type bucket struct {
	id      trace.TraceID
	ended   []*span // in order of arrival; only appended to and cut at the front
	known   map[trace.SpanID]struct{}
	running map[trace.SpanID]sdktrace.ReadOnlySpan
	bytes   int
}

var _ sdktrace.SpanProcessor = (*Store)(nil)

// NewStore returns an empty Store.
func NewStore(o Options) *Store {
	return &Store{o: o.withDefaults(), traces: map[trace.TraceID]*list.Element{}, watchers: map[chan struct{}]struct{}{}}
}

// OnStart implements sdktrace.SpanProcessor. Running spans are shown, too.
func (s *Store) OnStart(_ context.Context, sp sdktrace.ReadWriteSpan) {
	sc := sp.SpanContext()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	b := s.touch(sc.TraceID())
	if len(b.running) >= s.o.Spans {
		return // it is shown when it ends
	}
	b.running[sc.SpanID()] = sp
	s.grow(b, overhead)
}

// OnEnd implements sdktrace.SpanProcessor.
func (s *Store) OnEnd(sp sdktrace.ReadOnlySpan) { s.add([]*span{copySpan(sp, s.o.shown())}) }

// ForceFlush implements sdktrace.SpanProcessor; there is nothing to flush.
func (s *Store) ForceFlush(context.Context) error { return nil }

// Shutdown implements sdktrace.SpanProcessor. It removes all spans, and later ones are ignored.
func (s *Store) Shutdown(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.traces, s.bytes = map[trace.TraceID]*list.Element{}, 0
	s.recent.Init()
	s.notify()
	return nil
}

// add stores ended spans. It ignores duplicates: a process that exports to itself reports each span
// twice.
func (s *Store) add(spans []*span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for _, sp := range spans {
		b := s.touch(sp.key.trace)
		if _, ok := b.running[sp.key.span]; ok {
			delete(b.running, sp.key.span)
			s.grow(b, -overhead)
		}
		if _, ok := b.known[sp.key.span]; ok {
			continue
		}
		b.known[sp.key.span] = struct{}{}
		b.ended = append(b.ended, sp)
		s.grow(b, sp.bytes)
		if len(b.ended) > s.o.Spans {
			s.dropFirst(b)
		}
	}
	s.notify()
}

// touch returns the bucket of a trace, and makes it the most recent one.
func (s *Store) touch(id trace.TraceID) *bucket {
	if e := s.traces[id]; e != nil {
		s.recent.MoveToBack(e)
		return e.Value.(*bucket)
	}
	b := &bucket{id: id, known: map[trace.SpanID]struct{}{}, running: map[trace.SpanID]sdktrace.ReadOnlySpan{}}
	s.traces[id] = s.recent.PushBack(b)
	if s.recent.Len() > s.o.Traces {
		s.dropOldest()
	}
	return b
}

// grow adds n bytes to the most recent trace, and drops other traces until the limits hold.
func (s *Store) grow(b *bucket, n int) {
	b.bytes += n
	s.bytes += n
	for s.bytes > s.o.Bytes && s.recent.Len() > 1 {
		s.dropOldest()
	}
	for s.bytes > s.o.Bytes && len(b.ended) > 1 {
		s.dropFirst(b)
	}
	if n > 0 {
		s.notify()
	}
}

func (s *Store) dropOldest() {
	b := s.recent.Remove(s.recent.Front()).(*bucket)
	delete(s.traces, b.id)
	s.bytes -= b.bytes
	s.dropped += uint64(len(b.ended)) // running spans are added again when they end
}

func (s *Store) dropFirst(b *bucket) {
	first := b.ended[0]
	b.ended = b.ended[1:]
	delete(b.known, first.key.span)
	b.bytes -= first.bytes
	s.bytes -= first.bytes
	s.dropped++
}

// watch returns a channel that receives a value after every change until stop is called. Changes
// before the value is received are coalesced.
func (s *Store) watch() (changed <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	s.mu.Lock()
	s.watchers[ch] = struct{}{}
	s.mu.Unlock()
	return ch, func() {
		s.mu.Lock()
		delete(s.watchers, ch)
		s.mu.Unlock()
	}
}

func (s *Store) notify() {
	for ch := range s.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// snapshot returns all stored spans, with the current state of running ones, and the number of
// dropped spans.
func (s *Store) snapshot() (spans []*span, dropped uint64) {
	s.mu.Lock()
	n := 0
	for e := s.recent.Front(); e != nil; e = e.Next() {
		b := e.Value.(*bucket)
		n += len(b.ended) + len(b.running)
	}
	spans = make([]*span, 0, n)
	shown := s.o.shown()
	var running []sdktrace.ReadOnlySpan
	for e := s.recent.Front(); e != nil; e = e.Next() {
		b := e.Value.(*bucket)
		spans = append(spans, b.ended...)
		for _, r := range b.running {
			running = append(running, r)
		}
	}
	dropped = s.dropped
	s.mu.Unlock()
	for _, r := range running {
		spans = append(spans, copySpan(r, shown))
	}
	return spans, dropped
}
