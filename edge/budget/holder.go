package budget

import (
	"math"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"
)

// Holder is charged for memory. It is safe for concurrent use.
type Holder struct {
	b    *Budget
	key  key
	used atomic.Int64
	// over is the holder's part of Budget.over.
	over atomic.Int64
}

// Holder returns the holder of a principal or, without a subject, of a network address, grouped as
// in mcp.HolderOf. Callers without either share one holder.
func (b *Budget) Holder(issuer, subject string, addr netip.Addr) *Holder {
	if b == nil {
		return nil
	}
	if subject != "" {
		return b.table.holder(b, key{issuer: issuer, subject: subject})
	}
	return b.table.holder(b, key{addr: addr})
}

// Client returns the holder of a client that acts for itself. A user with the same subject is
// another holder.
func (b *Budget) Client(issuer, id string) *Holder {
	if b == nil {
		return nil
	}
	return b.table.holder(b, key{issuer: issuer, subject: id, client: true})
}

// Named returns one of the edge's own holders, which is not a client, such as the administrator.
func (b *Budget) Named(name string) *Holder {
	if b == nil {
		return nil
	}
	return b.table.holder(b, key{name: name})
}

// String returns the holder's name for operators.
func (h *Holder) String() string {
	switch {
	case h == nil:
		return "no holder"
	case h.key.name != "":
		return h.key.name
	case h.key.client:
		return "client " + strconv.Quote(h.key.subject)
	case h.key.subject != "":
		return "principal " + strconv.Quote(h.key.subject)
	case h.key.addr.IsValid():
		return "address " + h.key.addr.String()
	}
	return "unknown address"
}

// Used returns the bytes that the holder holds.
func (h *Holder) Used() int64 {
	if h == nil {
		return 0
	}
	return max(h.used.Load(), 0)
}

// Budget returns the holder's budget, or nil for nil.
func (h *Holder) Budget() *Budget {
	if h == nil {
		return nil
	}
	return h.b
}

// removed marks a holder that the table has removed.
const removed = math.MinInt64 / 2

// retire marks a holder without reservations as removed. It returns false if the holder holds
// anything.
func (h *Holder) retire() bool { return h.used.CompareAndSwap(0, removed) || h.retired() }

func (h *Holder) retired() bool { return h.used.Load() < 0 }

// current returns the holder, or its successor if the table has removed it.
func (h *Holder) current() *Holder {
	if h.retired() {
		return h.b.table.holder(h.b, h.key)
	}
	return h
}

// take admits n more bytes. It returns the charged holder, or nil without room.
func (h *Holder) take(n int64, force bool) *Holder {
	for {
		h = h.current()
		own := h.used.Add(n)
		if own < 0 { // removed from the table meanwhile
			h.used.Add(-n)
			continue
		}
		if force {
			h.force(n, own == n)
			return h
		}
		if h.b.take(n, own, own == n) {
			return h
		}
		// Another goroutine may have charged the holder meanwhile, assuming that it counts already.
		switch left := h.used.Add(-n); {
		case own == n && left > 0:
			h.b.state.Add(1 << holderBit)
		case own != n && left == 0:
			h.b.give(0, true)
		}
		return nil
	}
}

// force counts n more bytes, admitted or not. Bytes beyond nine tenths of the limit count as over.
// first is true if the holder held nothing before.
func (h *Holder) force(n int64, first bool) {
	b := h.b
	for {
		old := b.state.Load()
		within := min(max(b.busy-old&bytesMask-b.over.Load(), 0), n)
		add := within
		if first {
			add += 1 << holderBit
		}
		if !b.state.CompareAndSwap(old, old+add) {
			continue
		}
		// The budget first, so that it is never below the sum of its holders.
		b.over.Add(n - within)
		h.over.Add(n - within)
		return
	}
}

// give counts n fewer bytes, starting with those in over.
func (h *Holder) give(n int64) {
	left := h.used.Add(-n)
	h.b.give(n-h.releaseOver(n), left == 0)
}

// releaseOver removes at most n bytes from over, and returns their number.
func (h *Holder) releaseOver(n int64) int64 {
	for {
		over := h.over.Load()
		if over <= 0 {
			return 0
		}
		back := min(over, n)
		if h.over.CompareAndSwap(over, over-back) {
			h.b.over.Add(-back)
			return back
		}
	}
}

// admit admits n more bytes, if necessary after freeing memory that the holder can do without. It
// returns the charged holder, or nil without room.
func (h *Holder) admit(n int64) *Holder {
	charged := h.take(n, false)
	for i := 0; charged == nil && i < len(h.b.reclaim); i++ {
		if h.b.reclaim[i](h) {
			charged = h.take(n, false)
		}
	}
	return charged
}

// refuse counts a refusal and returns its error.
func (h *Holder) refuse(p Purpose, n int64) error {
	b := h.b
	b.refused[p].Add(1)
	used, holders := b.Used()
	own := h.Used()
	if own == 0 {
		holders++
	}
	full := &Full{Purpose: p, Bytes: n, Own: own, Share: b.share(int64(holders)), Used: used, Limit: b.limit, Holders: holders}
	b.report(h, full)
	return full
}

// report reports refusals to operators, rate-limited.
func (b *Budget) report(h *Holder, f *Full) {
	if b.onFull == nil {
		return
	}
	unreported := b.unreported.Add(1)
	now, last := time.Now().UnixNano(), b.reportedAt.Load()
	if now-last < int64(reportEvery) || !b.reportedAt.CompareAndSwap(last, now) {
		return
	}
	b.unreported.Add(-unreported)
	report := *f
	report.Holder, report.Refusals = h.String(), unreported
	b.onFull(report)
}
