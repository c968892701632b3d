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
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Arguments selects how the arguments of calls are recorded.
type Arguments uint8

// Values of Arguments.
const (
	// ArgumentsNone records nothing.
	ArgumentsNone Arguments = iota
	// ArgumentsDigest records an HMAC, which is equal for equal arguments.
	ArgumentsDigest
	// ArgumentsWhole records the arguments.
	ArgumentsWhole
)

// Options are the settings of a Log.
type Options struct {
	// Sinks are keyed by their names in metrics. Each gets every record.
	Sinks map[string]Sink
	// Arguments selects how arguments are recorded. Key is the key of digests.
	Arguments Arguments
	Key       []byte
	// Required refuses requests that cannot be recorded.
	Required bool
	// Timeout bounds the write of a required record. 0 means DefaultTimeout.
	Timeout time.Duration
	// Queue bounds the records that wait for a sink, in bytes. 0 means DefaultQueue. The outcomes of calls
	// that were in flight when a required queue became full may exceed it.
	Queue int
	// Settings returns the digest of the settings in force, for each record. nil omits it.
	Settings func() string
	// Redact returns the Redactor in force, or nil if there is none. A nil Redact means that there
	// is never one.
	Redact func() Redactor
	// Logger logs failures of sinks. nil uses slog.Default.
	Logger *slog.Logger
}

// Defaults for the zero values of Options.
const (
	DefaultTimeout = 5 * time.Second
	DefaultQueue   = 16 << 20
)

// Redactor replaces secrets. Text is for names and reasons, Arguments for the arguments of calls.
type Redactor interface {
	Text(text string) string
	Arguments(raw json.RawMessage) json.RawMessage
}

// Log writes records to sinks. Use New to create one. Safe for concurrent use.
type Log struct {
	o       Options
	queues  []*queue
	refused atomic.Int64
	stop    context.CancelFunc
}

// New returns a Log and starts its writers. The Log owns the sinks. Close closes both.
func New(o Options) *Log {
	o.Timeout, o.Queue = cmp.Or(o.Timeout, DefaultTimeout), cmp.Or(o.Queue, DefaultQueue)
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

// Close rejects new records and writes the queued ones until ctx ends. The error has the number of
// lost records.
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

// Decided records a decision. If the record is required and was not written in time, it returns a
// *mcp.Error with which the request must be refused. It sets r.Event, r.Settings and the arguments
// in r, and sets a zero r.Time to now.
func (l *Log) Decided(ctx context.Context, r *Record, a CallArguments) error {
	l.begin(r, EventDecision)
	r.Arguments, r.ArgumentsDigest = l.describe(a.Effective)
	r.SentArguments, r.SentArgumentsDigest = l.describe(a.Sent)
	if !l.o.Required {
		l.put(r, false)
		return nil
	}
	return l.require(ctx, r)
}

// Ended records an outcome. It sets r.Event and r.Settings, and sets a zero r.Time to now. It does
// not block.
func (l *Log) Ended(r *Record) {
	l.begin(r, EventOutcome)
	l.put(r, l.o.Required)
}

// begin sets the members that all records have, and replaces secrets.
func (l *Log) begin(r *Record, event Event) {
	r.Event = event
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	if l.o.Settings != nil {
		r.Settings = l.o.Settings()
	}
	if by := l.redactor(); by != nil {
		r.Target, r.Shown, r.Reason = by.Text(r.Target), by.Text(r.Shown), by.Text(r.Reason)
		r.Hooks = slices.Clone(r.Hooks) // Records of one request may share them.
		for i := range r.Hooks {
			r.Hooks[i].Reason = by.Text(r.Hooks[i].Reason)
		}
	}
}

// redactor returns the Redactor in force, or nil.
func (l *Log) redactor() Redactor {
	if l.o.Redact == nil {
		return nil
	}
	return l.o.Redact()
}

// describe returns the recorded form of arguments: all of them, a digest, or neither. It does not
// retain arguments.
func (l *Log) describe(arguments json.RawMessage) (whole json.RawMessage, digest string) {
	if len(arguments) == 0 || l.o.Arguments == ArgumentsNone {
		return nil, ""
	}
	compact := json.RawMessage(jsonrpc.Compact(nil, arguments))
	if l.o.Arguments == ArgumentsWhole {
		if by := l.redactor(); by != nil {
			compact = by.Arguments(compact)
		}
		return compact, ""
	}
	mac := hmac.New(sha256.New, l.o.Key)
	mac.Write(compact)
	return nil, hex.EncodeToString(mac.Sum(nil))
}

// put adds a record to all queues. A queue that rejects it counts it as lost.
func (l *Log) put(r *Record, forced bool) {
	for _, q := range l.queues {
		if _, err := q.put(r, forced); err != nil {
			q.lost.Add(1)
		}
	}
}

// require adds a record to all queues and blocks until all sinks have written it.
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

// retryAfter is the pause before a client retries a request that could not be recorded.
const retryAfter = 5 * time.Second

// refuse returns the error for a request that cannot be recorded.
func (l *Log) refuse(q *queue, why error) error {
	l.refused.Add(1)
	return &mcp.Error{
		Kind: mcp.KindStateUnavailable, Message: "the audit log, which is required, cannot be written; retry later",
		RetryAfter: retryAfter, Err: fmt.Errorf("audit: %s: %w", q.name, why),
	}
}

// Refused returns the number of requests that were refused because they could not be recorded.
func (l *Log) Refused() int64 { return l.refused.Load() }

// Each calls fn for each sink, with the numbers of written, lost and waiting records.
func (l *Log) Each(fn func(sink string, written, lost int64, waiting int)) {
	for _, q := range l.queues {
		fn(q.name, q.written.Load(), q.lost.Load(), q.waiting())
	}
}
