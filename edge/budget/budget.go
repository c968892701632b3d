package budget

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Purpose is a use of memory.
type Purpose uint8

// The purposes of memory.
const (
	// Requests are bodies and the work on them, from the first byte read to the last byte of the
	// response.
	Requests Purpose = iota
	// Calls are copies of params that a call needs beside the body of its request, and after it.
	Calls
	// Results are results of backends that are being rendered or sent.
	Results
	// Checks are what the validation of arguments needs while it runs.
	Checks
	// Streams are open event streams and HTTP+SSE connections.
	Streams
	// Sessions are session records and copies of them.
	Sessions
	// Logs are streams that can be replayed, and parked calls.
	Logs
	purposes
)

var purposeNames = [purposes]string{"requests", "calls", "results", "checks", "streams", "sessions", "logs"}

// String returns the name in metrics.
func (p Purpose) String() string { return purposeNames[p] }

// All returns all purposes.
func All() []Purpose {
	out := make([]Purpose, purposes)
	for i := range out {
		out[i] = Purpose(i)
	}
	return out
}

// Budget is the memory of one process that may be held for clients. Make it with New. It is safe
// for concurrent use.
type Budget struct {
	limit, busy int64
	// state packs the held bytes, in the low bits, and the number of holders that hold any, in the
	// high bits.
	state atomic.Int64
	// over counts forced bytes that exceeded nine tenths of the limit, in addition to the bytes in
	// state. It counts towards the nine tenths, but not towards the last tenth.
	over atomic.Int64
	// unmeasured is true while a permit without room exists; see Holder.Permit.
	unmeasured atomic.Bool
	byPurpose  [purposes]atomic.Int64
	refused    [purposes]atomic.Int64
	table      table

	mu      sync.Mutex
	waiting atomic.Int64
	waking  atomic.Bool   // a retry of the waiters is scheduled
	freed   chan struct{} // closed when bytes are released; nil without waiters

	onFull func(Full)
	// reportedAt is the time of the last call of onFull, in Unix nanoseconds. unreported counts
	// refusals since then.
	reportedAt, unreported atomic.Int64
	reclaim                []func(*Holder) bool
}

const (
	// holderBit is the position of the number of holders in Budget.state. It leaves room for 4 TiB
	// below and two million holders above.
	holderBit = 42
	bytesMask = 1<<holderBit - 1
	// reportEvery is the minimum time between two calls of the function from OnFull.
	reportEvery = 10 * time.Second
	// wakeAfter is the delay between a release and the retry of all waiters. Without it, all
	// waiters would retry at the end of every request.
	wakeAfter = 5 * time.Millisecond
)

// New returns a budget of limit bytes, or nil if limit is 0 or less.
func New(limit int64) *Budget {
	if limit <= 0 {
		return nil
	}
	limit = min(limit, bytesMask/2)
	b := &Budget{limit: limit, busy: limit - limit/10}
	b.table.init()
	return b
}

// OnFull sets the function that is called for refusals: at most every ten seconds, in the goroutine
// that was refused. Call it before the budget is used.
func (b *Budget) OnFull(fn func(Full)) {
	if b != nil {
		b.onFull = fn
	}
}

// OnRefusal adds a function that is called before a holder is refused: fn frees memory that the
// holder can do without, and reports whether it did. It must not reserve memory. Call it before the
// budget is used.
func (b *Budget) OnRefusal(fn func(*Holder) bool) {
	if b != nil {
		b.reclaim = append(b.reclaim, fn)
	}
}

// Limit returns the maximum in bytes, or 0 without a limit.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Used returns the held bytes, and the number of holders that hold any.
func (b *Budget) Used() (bytes int64, holders int) {
	if b == nil {
		return 0, 0
	}
	s := b.state.Load()
	return s&bytesMask + b.over.Load(), int(s >> holderBit)
}

// UsedFor returns the bytes that are held for one purpose.
func (b *Budget) UsedFor(p Purpose) int64 {
	if b == nil {
		return 0
	}
	return b.byPurpose[p].Load()
}

// Refused returns the number of refusals for one purpose.
func (b *Budget) Refused(p Purpose) int64 {
	if b == nil {
		return 0
	}
	return b.refused[p].Load()
}

// share returns the equal share of each holder when the budget is full.
func (b *Budget) share(holders int64) int64 { return b.busy / max(holders, 1) }

// take counts n more bytes for a holder if they are admitted. own is what the holder then holds;
// first is true if it held nothing before.
//
// Up to nine tenths of the limit, including forced bytes, every holder is admitted. Beyond that, a
// holder with more than an equal share is refused. A holder with less is admitted up to the limit,
// regardless of forced bytes: they never take the last tenth from it.
func (b *Budget) take(n, own int64, first bool) bool {
	add := n
	if first {
		add += 1 << holderBit
	}
	for {
		old := b.state.Load()
		next := old + add
		bytes, holders := next&bytesMask, next>>holderBit
		if bytes+b.over.Load() > b.busy && (bytes > b.limit || own > b.share(holders)) {
			return false
		}
		if b.state.CompareAndSwap(old, next) {
			return true
		}
	}
}

// give counts n fewer bytes. last is true if the holder then holds nothing.
func (b *Budget) give(n int64, last bool) {
	sub := n
	if last {
		sub += 1 << holderBit
	}
	b.state.Add(-sub)
	if b.waiting.Load() > 0 {
		b.wake()
	}
}

// wake schedules a retry of the waiters.
func (b *Budget) wake() {
	if !b.waking.Load() && b.waking.CompareAndSwap(false, true) {
		time.AfterFunc(wakeAfter, b.retry)
	}
}

func (b *Budget) retry() {
	b.waking.Store(false) // first, so that later releases schedule another retry
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}

// await calls try until it succeeds, at first at once and then after releases. It returns false
// when ctx ends.
func (b *Budget) await(ctx context.Context, try func() bool) bool {
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	for {
		b.mu.Lock()
		if b.freed == nil {
			b.freed = make(chan struct{})
		}
		freed := b.freed
		b.mu.Unlock()
		if try() {
			return true
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}
