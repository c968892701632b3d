package dev

import (
	"container/list"
	"context"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options bound what a Store keeps. Zero members mean the defaults.
type Options struct {
	// Traces is how many are kept; beyond, the one that was longest without a new span is dropped. 0: 500.
	Traces int
	// Spans is how many are kept of one trace; beyond, the one that ended first is dropped. 0: 1,000.
	Spans int
	// Bytes bounds all that is kept, about; beyond, whole traces are dropped as by Traces. 0: 64 MiB.
	Bytes int
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

// Store keeps the last traces. Make it with NewStore. All methods are safe for concurrent use.
type Store struct {
	o        Options
	mu       sync.Mutex
	traces   map[trace.TraceID]*list.Element // of *bucket
	recent   list.List                       // the one with the newest span is last
	bytes    int
	dropped  uint64 // spans that ended
	watchers map[chan struct{}]struct{}
	closed   bool
}

// bucket is what is kept of one trace.
type bucket struct {
	id      trace.TraceID
	ended   []*span // in the order in which they came; only appended to and cut at the front
	known   map[trace.SpanID]struct{}
	running map[trace.SpanID]sdktrace.ReadOnlySpan
	bytes   int
}

var _ sdktrace.SpanProcessor = (*Store)(nil)

// NewStore makes an empty Store.
func NewStore(o Options) *Store {
	return &Store{o: o.withDefaults(), traces: map[trace.TraceID]*list.Element{}, watchers: map[chan struct{}]struct{}{}}
}

// OnStart implements sdktrace.SpanProcessor: what runs is shown too.
func (s *Store) OnStart(_ context.Context, sp sdktrace.ReadWriteSpan) {
	sc := sp.SpanContext()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	b := s.touch(sc.TraceID())
	if len(b.running) >= s.o.Spans {
		return // it is seen when it ends
	}
	b.running[sc.SpanID()] = sp
	s.grow(b, overhead)
}

// OnEnd implements sdktrace.SpanProcessor.
func (s *Store) OnEnd(sp sdktrace.ReadOnlySpan) { s.add([]*span{copied(sp)}) }

// ForceFlush implements sdktrace.SpanProcessor; there is nothing to flush.
func (s *Store) ForceFlush(context.Context) error { return nil }

// Shutdown implements sdktrace.SpanProcessor: it forgets everything and keeps nothing any more.
func (s *Store) Shutdown(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.traces, s.bytes = map[trace.TraceID]*list.Element{}, 0
	s.recent.Init()
	s.tell()
	return nil
}

// add keeps spans that ended. One that is there already is passed over: a process that exports to itself
// reports each of its spans twice.
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
	s.tell()
}

// touch is the trace's bucket, now the most recent one.
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

// grow reckons with n bytes more of the most recent trace and drops others until all fit.
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
		s.tell()
	}
}

func (s *Store) dropOldest() {
	b := s.recent.Remove(s.recent.Front()).(*bucket)
	delete(s.traces, b.id)
	s.bytes -= b.bytes
	s.dropped += uint64(len(b.ended)) // what runs comes again when it ends
}

func (s *Store) dropFirst(b *bucket) {
	first := b.ended[0]
	b.ended = b.ended[1:]
	delete(b.known, first.key.span)
	b.bytes -= first.bytes
	s.bytes -= first.bytes
	s.dropped++
}

// watch returns a channel that has a value after every change, until stop is called. Changes that come
// before the value is taken are one.
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

func (s *Store) tell() {
	for ch := range s.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// snapshot is every span that is kept, those that run as they are now, and how many were dropped so far.
func (s *Store) snapshot() (spans []*span, dropped uint64) {
	s.mu.Lock()
	n := 0
	for e := s.recent.Front(); e != nil; e = e.Next() {
		b := e.Value.(*bucket)
		n += len(b.ended) + len(b.running)
	}
	spans = make([]*span, 0, n)
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
		spans = append(spans, copied(r))
	}
	return spans, dropped
}
