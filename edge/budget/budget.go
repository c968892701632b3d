package budget

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Purpose says what memory is held for.
type Purpose uint8

// The purposes that memory is admitted for.
const (
	// Requests are bodies and the work on them, from the reading of the first byte to the answer's last.
	Requests Purpose = iota
	// Calls are copies of params that a call needs beside the body of its request, and after it.
	Calls
	// Results came from backends and are being rendered, or wait for their reader.
	Results
	// Checks are what the validation of arguments takes while it runs.
	Checks
	// Streams are open streams of events and connections of HTTP+SSE.
	Streams
	// Sessions are records and copies of them.
	Sessions
	// Logs are streams that can be replayed, and parked calls.
	Logs
	purposes
)

var purposeNames = [purposes]string{"requests", "calls", "results", "checks", "streams", "sessions", "logs"}

// String is the name in metrics.
func (p Purpose) String() string { return purposeNames[p] }

// All is everything that is admitted.
func All() []Purpose {
	out := make([]Purpose, purposes)
	for i := range out {
		out[i] = Purpose(i)
	}
	return out
}

// Budget is the memory of one process that may be held on behalf of others. Make it with New. Safe for
// concurrent use.
type Budget struct {
	limit, busy int64
	// state packs the bytes that are held, below, and the number of holders that hold any, above.
	state atomic.Int64
	// over is what was forced where there was no room below nine tenths, beside the bytes in state: it fills those nine
	// tenths, and takes nothing of the last one.
	over atomic.Int64
	// unmeasured: somebody has a permit without room for it; see Holder.Permit.
	unmeasured atomic.Bool
	byPurpose  [purposes]atomic.Int64
	refused    [purposes]atomic.Int64
	table      table

	mu      sync.Mutex
	waiting atomic.Int64
	waking  atomic.Bool   // whoever waits is about to try again
	freed   chan struct{} // closed when something was released; nil while nobody waits

	onFull func(Full)
	// told is when onFull was called last, in Unix nanoseconds; untold counts refusals since.
	told, untold atomic.Int64
	reclaim      []func(*Holder) bool
}

const (
	// holderBit is where the number of holders begins in Budget.state. 4 TiB fit below, two million holders above.
	holderBit = 42
	bytesMask = 1<<holderBit - 1
	// tellEvery is the least time between two calls of the function that OnFull sets.
	tellEvery = 10 * time.Second
	// wakeAfter is how long after a release those that wait try again, all of them: as many as wait would else do so at
	// the end of every request.
	wakeAfter = 5 * time.Millisecond
)

// New makes a budget of so many bytes; with 0 or less, nil.
func New(limit int64) *Budget {
	if limit <= 0 {
		return nil
	}
	limit = min(limit, bytesMask/2)
	b := &Budget{limit: limit, busy: limit - limit/10}
	b.table.init()
	return b
}

// OnFull sets who hears that something was refused: at most every ten seconds, in the goroutine of whoever was
// refused. Call it before the budget is used.
func (b *Budget) OnFull(fn func(Full)) {
	if b != nil {
		b.onFull = fn
	}
}

// OnRefusal adds what is tried before a holder is refused: fn frees what the holder can do without, and says
// whether it did. It must not reserve anything. Call it before the budget is used.
func (b *Budget) OnRefusal(fn func(*Holder) bool) {
	if b != nil {
		b.reclaim = append(b.reclaim, fn)
	}
}

// Limit is the most that may be held, in bytes; 0: there is none.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Used is what is held, in bytes, and by how many holders.
func (b *Budget) Used() (bytes int64, holders int) {
	if b == nil {
		return 0, 0
	}
	s := b.state.Load()
	return s&bytesMask + b.over.Load(), int(s >> holderBit)
}

// UsedFor is what is held for one thing, in bytes.
func (b *Budget) UsedFor(p Purpose) int64 {
	if b == nil {
		return 0
	}
	return b.byPurpose[p].Load()
}

// Refused is how often something was refused for want of room.
func (b *Budget) Refused(p Purpose) int64 {
	if b == nil {
		return 0
	}
	return b.refused[p].Load()
}

// share is what each of so many holders may hold when the budget is full.
func (b *Budget) share(holders int64) int64 { return b.busy / max(holders, 1) }

// take counts n bytes more, if they are admitted, for a holder that then holds own. first: it held nothing before.
//
// Who holds more than a share is admitted while everything together, what was forced included, is below nine tenths;
// and so is everybody. Who holds less is admitted up to the limit without regard to what was forced: so much is left to
// those whatever the others have come to.
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

// give counts n bytes less, and a holder less if it holds nothing any more.
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

// wake has those that wait try again, soon.
func (b *Budget) wake() {
	if !b.waking.Load() && b.waking.CompareAndSwap(false, true) {
		time.AfterFunc(wakeAfter, b.retry)
	}
}

func (b *Budget) retry() {
	b.waking.Store(false) // first: what is released from now on wakes again
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}

// await calls try until it succeeds, soon after something was released, or until ctx ends.
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
