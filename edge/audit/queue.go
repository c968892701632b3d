package audit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Sink writes records. It is used by one goroutine at a time.
type Sink interface {
	// Write writes records in order and returns the number of written ones. If that is less than
	// all, it returns an error, and is called again with the others.
	Write(ctx context.Context, records []Record) (taken int, _ error)
	// Close releases the resources of the sink after the last Write. ctx bounds it.
	Close(ctx context.Context) error
}

const (
	// gather is the time for which records are collected before a write, unless they are required.
	gather = 20 * time.Millisecond
	// mostAtOnce bounds the records of a batch.
	mostAtOnce = 1024
	// leastRetry and mostRetry bound the pause before a failed write is retried.
	leastRetry = 50 * time.Millisecond
	mostRetry  = 2 * time.Second
)

// queue holds the records that wait for one sink.
type queue struct {
	name string
	sink Sink
	// most bounds the waiting records, in bytes.
	most   int
	urgent bool // requests wait for the writes
	log    *slog.Logger
	wake   chan struct{}
	ended  chan struct{}

	mu     sync.Mutex
	full   []*batch // complete batches, written before next
	next   *batch
	spare  []Record // an empty slice, whose capacity is reused
	bytes  int      // size of the records that are not written yet
	count  int
	closed bool

	failing       atomic.Bool
	written, lost atomic.Int64
}

// batch is a list of records that are written together.
type batch struct {
	records []Record
	// signalled is true after the writer was woken because the queue is half full.
	signalled bool
	// done is closed when all records are written or lost. lost reports which.
	done chan struct{}
	lost bool
}

func newQueue(name string, s Sink, o Options) *queue {
	return &queue{
		name: name, sink: s, most: o.Queue, urgent: o.Required, log: o.Logger,
		wake: make(chan struct{}, 1), ended: make(chan struct{}), next: newBatch(),
	}
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

var (
	errFull    = errors.New("the queue is full")
	errFailing = errors.New("the last write failed")
	errClosed  = errors.New("the edge is shutting down")
)

// put adds a record and returns its batch. It returns an error if the queue is closed, or full and
// forced is false.
func (q *queue) put(r *Record, forced bool) (*batch, error) {
	size := r.size()
	q.mu.Lock()
	switch {
	case q.closed:
		q.mu.Unlock()
		return nil, errClosed
	case q.bytes+size > q.most && !forced:
		q.mu.Unlock()
		return nil, errFull
	}
	if len(q.next.records) == mostAtOnce {
		q.full = append(q.full, q.next)
		q.begin()
	}
	b := q.next
	b.records = append(b.records, *r)
	q.bytes += size
	q.count++
	wake := len(b.records) == 1
	if !b.signalled && q.bytes > q.most/2 {
		b.signalled, wake = true, true
	}
	q.mu.Unlock()
	if wake {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	return b, nil
}

func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

// run writes batches until the queue is closed and empty, or ctx ends.
func (q *queue) run(ctx context.Context) {
	defer close(q.ended)
	for {
		b, closed := q.take()
		if b != nil {
			if !q.write(ctx, b) {
				return
			}
			continue
		}
		if closed {
			return
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return
		}
		q.gather(ctx)
	}
}

// gather waits for more records, unless the waiting ones are urgent.
func (q *queue) gather(ctx context.Context) {
	q.mu.Lock()
	now := q.urgent || q.closed || q.bytes > q.most/2
	q.mu.Unlock()
	if now {
		return
	}
	t := time.NewTimer(gather)
	defer t.Stop()
	select {
	case <-t.C:
	case <-q.wake:
	case <-ctx.Done():
	}
}

// begin starts a new batch. The caller holds q.mu.
func (q *queue) begin() {
	q.next = newBatch()
	q.next.records, q.spare = q.spare, nil
}

// take removes and returns the next batch, or nil if no record waits.
func (q *queue) take() (b *batch, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.full) > 0:
		b, q.full = q.full[0], q.full[1:]
	case len(q.next.records) > 0:
		b = q.next
		q.begin()
	}
	return b, q.closed
}

// write writes a batch, with retries until it succeeds. If ctx ends first, it returns false, and
// the remaining records are lost.
func (q *queue) write(ctx context.Context, b *batch) bool {
	wait := leastRetry
	for rest := b.records; ; {
		n, err := q.sink.Write(ctx, rest)
		q.written.Add(int64(n))
		q.release(rest[:n])
		if rest = rest[n:]; n > 0 {
			wait = leastRetry
		}
		if err == nil {
			if q.failing.Swap(false) {
				q.log.Info("audit records are written again", "sink", q.name)
			}
			if len(rest) == 0 {
				q.recycle(b.records)
				close(b.done)
				return true
			}
			continue
		}
		if !q.failing.Swap(true) {
			q.log.Error("audit records cannot be written; retrying", "sink", q.name, "error", err)
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		if wait = min(2*wait, mostRetry); ctx.Err() != nil {
			q.lost.Add(int64(len(rest)))
			q.release(rest)
			b.lost = true
			close(b.done)
			return false
		}
	}
}

// recycle keeps the capacity of a written batch for a later one.
func (q *queue) recycle(records []Record) {
	clear(records)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spare = records[:0]
}

// release subtracts records from the size of the queue.
func (q *queue) release(records []Record) {
	bytes := 0
	for i := range records {
		bytes += records[i].size()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= bytes
	q.count -= len(records)
}

// close rejects new records, writes the waiting ones until ctx ends, and returns the number of
// records that were lost.
func (q *queue) close(ctx context.Context, stop context.CancelFunc) (lost int64, _ error) {
	before := q.lost.Load()
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	select {
	case <-q.ended:
	case <-ctx.Done():
		stop()
		<-q.ended
	}
	for b, _ := q.take(); b != nil; b, _ = q.take() {
		q.lost.Add(int64(len(b.records)))
		q.release(b.records)
		b.lost = true
		close(b.done)
	}
	return q.lost.Load() - before, q.sink.Close(ctx)
}
