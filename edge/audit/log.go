package audit

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Arguments is what records say of the arguments of calls.
type Arguments uint8

// What they say.
const (
	// ArgumentsNone: nothing.
	ArgumentsNone Arguments = iota
	// ArgumentsDigest: the HMAC of them, by which equal ones are found without telling them.
	ArgumentsDigest
	// ArgumentsWhole: they are there.
	ArgumentsWhole
)

// Options are the settings of a Log. Zero values stand for the defaults named.
type Options struct {
	// Sinks by their names in metrics; each gets every record.
	Sinks map[string]Sink
	// Arguments says what is recorded of arguments. A digest is made with Key.
	Arguments Arguments
	Key       []byte
	// Required: what cannot be recorded is refused.
	Required bool
	// Timeout is how long what is required may take to be written; 0: 5 s.
	Timeout time.Duration
	// Queue bounds the records that wait for a sink, in bytes; 0: 16 MiB. Outcomes that are required may exceed it, of
	// the calls that were in flight when it became full.
	Queue int
	// Logger hears of sinks that fail; nil: slog.Default().
	Logger *slog.Logger
}

const (
	defaultTimeout = 5 * time.Second
	defaultQueue   = 16 << 20
)

// Log takes records. Make it with New. Safe for concurrent use.
type Log struct {
	o       Options
	queues  []*queue
	refused atomic.Int64
	stop    context.CancelFunc
}

// New makes a Log and begins to write. Close ends it, and the sinks, which are its own from now on.
func New(o Options) *Log {
	o.Timeout, o.Queue = cmp.Or(o.Timeout, defaultTimeout), cmp.Or(o.Queue, defaultQueue)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	l := &Log{o: o}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	for name, s := range o.Sinks {
		q := newQueue(name, s, o)
		l.queues = append(l.queues, q)
		go q.run(ctx)
	}
	return l
}

// Close writes what waits until ctx ends, and takes nothing any more. The error says how many records were lost.
func (l *Log) Close(ctx context.Context) error {
	var errs []error
	for _, q := range l.queues {
		lost, err := q.close(ctx, l.stop)
		if lost > 0 {
			err = errors.Join(err, fmt.Errorf("%d records were not written in time", lost))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("audit: %s: %w", q.name, err))
		}
	}
	l.stop()
	return errors.Join(errs...)
}

// Decided records a decision. nil: it takes effect. Else its record is required and was not written in time: whatever was
// decided, the request is refused with the error, a *mcp.Error. arguments are those of the call, nil if it has none; they stay
// the caller's. Nobody else sets Event, Arguments and ArgumentsDigest; a Time of zero is now.
func (l *Log) Decided(ctx context.Context, r *Record, arguments json.RawMessage) error {
	r.Event = EventDecision
	l.describe(r, arguments)
	if !l.o.Required {
		l.put(r, false)
		return nil
	}
	return l.require(ctx, r)
}

// Ended records an outcome. It does not block.
func (l *Log) Ended(r *Record) {
	r.Event = EventOutcome
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	l.put(r, l.o.Required)
}

// describe adds what is recorded of arguments.
func (l *Log) describe(r *Record, arguments json.RawMessage) {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	if len(arguments) == 0 || l.o.Arguments == ArgumentsNone {
		return
	}
	compact := jsonrpc.Compact(nil, arguments)
	if l.o.Arguments == ArgumentsWhole {
		r.Arguments = compact
		return
	}
	mac := hmac.New(sha256.New, l.o.Key)
	mac.Write(compact)
	r.ArgumentsDigest = hex.EncodeToString(mac.Sum(nil))
}

// put adds a record to all queues. Where it is not taken, it is lost.
func (l *Log) put(r *Record, forced bool) {
	for _, q := range l.queues {
		if _, err := q.put(r, forced); err != nil {
			q.lost.Add(1)
		}
	}
}

// require adds a record to all queues and waits until it is written.
func (l *Log) require(ctx context.Context, r *Record) error {
	for _, q := range l.queues {
		if q.failing.Load() {
			return l.refuse(q, errFailing)
		}
	}
	var space [3]*batch
	batches := space[:0]
	for _, q := range l.queues {
		b, err := q.put(r, false)
		if err != nil {
			return l.refuse(q, err)
		}
		batches = append(batches, b)
	}
	t := time.NewTimer(l.o.Timeout)
	defer t.Stop()
	for i, b := range batches {
		select {
		case <-b.done:
			if b.lost {
				return l.refuse(l.queues[i], errClosed)
			}
		case <-t.C:
			return l.refuse(l.queues[i], fmt.Errorf("it takes longer than %s", l.o.Timeout))
		case <-ctx.Done():
			return mcp.Errorf(mcp.KindCancelled, "the request ended before it was recorded")
		}
	}
	return nil
}

// retryAfter is when a request that could not be recorded may be tried again.
const retryAfter = 5 * time.Second

// refuse is the answer to what cannot be recorded.
func (l *Log) refuse(q *queue, why error) error {
	l.refused.Add(1)
	return &mcp.Error{
		Kind: mcp.KindStateUnavailable, Message: "what is done here has to be recorded, which is not possible now: try again later",
		RetryAfter: retryAfter, Err: fmt.Errorf("audit: %s: %w", q.name, why),
	}
}

// Refused is how many requests were refused because they could not be recorded.
func (l *Log) Refused() int64 { return l.refused.Load() }

// Each calls fn with what became of the records of each sink: how many were written, were lost, and wait.
func (l *Log) Each(fn func(sink string, written, lost int64, waiting int)) {
	for _, q := range l.queues {
		fn(q.name, q.written.Load(), q.lost.Load(), q.waiting())
	}
}
