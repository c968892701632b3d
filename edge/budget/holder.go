package budget

import (
	"math"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"
)

// Holder is whoever is charged. Safe for concurrent use.
type Holder struct {
	b    *Budget
	key  key
	used atomic.Int64
	// over is what of it Budget.over counts.
	over atomic.Int64
}

// Holder is the holder of a principal or, without a subject, of a network address, as addresses are counted: see
// mcp.HolderOf. Callers of whom neither is known are one holder.
func (b *Budget) Holder(issuer, subject string, addr netip.Addr) *Holder {
	if b == nil {
		return nil
	}
	if subject != "" {
		return b.table.holder(b, key{issuer: issuer, subject: subject})
	}
	return b.table.holder(b, key{addr: addr})
}

// Client is the holder of a client that acts for itself. It is another one than a user's whose subject is the same text.
func (b *Budget) Client(issuer, id string) *Holder {
	if b == nil {
		return nil
	}
	return b.table.holder(b, key{issuer: issuer, subject: id, client: true})
}

// Named is a holder of the edge's own that is no client, such as the administrator.
func (b *Budget) Named(name string) *Holder {
	if b == nil {
		return nil
	}
	return b.table.holder(b, key{name: name})
}

// String names the holder for operators.
func (h *Holder) String() string {
	switch {
	case h == nil:
		return "nobody"
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

// Used is what the holder holds, in bytes.
func (h *Holder) Used() int64 {
	if h == nil {
		return 0
	}
	return max(h.used.Load(), 0)
}

// Budget is the holder's; nil on nil.
func (h *Holder) Budget() *Budget {
	if h == nil {
		return nil
	}
	return h.b
}

// gone is what a holder holds that the table has forgotten.
const gone = math.MinInt64 / 2

// retire makes a holder that holds nothing unusable; false when it holds something.
func (h *Holder) retire() bool { return h.used.CompareAndSwap(0, gone) || h.retired() }

func (h *Holder) retired() bool { return h.used.Load() < 0 }

// live is the holder, or the one that took its place when the table had forgotten it.
func (h *Holder) live() *Holder {
	if h.retired() {
		return h.b.table.holder(h.b, h.key)
	}
	return h
}

// take admits n bytes more. It returns the holder that was charged; nil: nobody, there is no room.
func (h *Holder) take(n int64, force bool) *Holder {
	for {
		h = h.live()
		own := h.used.Add(n)
		if own < 0 { // retired since
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
		// Another may have charged the holder meanwhile, on the assumption that it counts already.
		switch left := h.used.Add(-n); {
		case own == n && left > 0:
			h.b.state.Add(1 << holderBit)
		case own != n && left == 0:
			h.b.give(0, true)
		}
		return nil
	}
}

// force counts n bytes more, admitted or not: those that nine tenths have no room for as over. first: the holder held
// nothing before.
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
		// The budget's first: it is never less than that of all holders.
		b.over.Add(n - within)
		h.over.Add(n - within)
		return
	}
}

// give counts n bytes less, those that are over first.
func (h *Holder) give(n int64) {
	left := h.used.Add(-n)
	h.b.give(n-h.giveOver(n), left == 0)
}

// giveOver counts at most n bytes less of what is over, and returns how many.
func (h *Holder) giveOver(n int64) int64 {
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

// ask admits n bytes more, after what the holder can do without was freed if need be. It returns the holder that was
// charged; nil: nobody.
func (h *Holder) ask(n int64) *Holder {
	charged := h.take(n, false)
	for i := 0; charged == nil && i < len(h.b.reclaim); i++ {
		if h.b.reclaim[i](h) {
			charged = h.take(n, false)
		}
	}
	return charged
}

// refuse counts a refusal and says why.
func (h *Holder) refuse(p Purpose, n int64) error {
	b := h.b
	b.refused[p].Add(1)
	used, holders := b.Used()
	own := h.Used()
	if own == 0 {
		holders++
	}
	full := &Full{Purpose: p, Bytes: n, Own: own, Share: b.share(int64(holders)), Used: used, Limit: b.limit, Holders: holders}
	b.tell(h, full)
	return full
}

// tell lets operators know of a refusal, once in a while.
func (b *Budget) tell(h *Holder, f *Full) {
	if b.onFull == nil {
		return
	}
	untold := b.untold.Add(1)
	now, last := time.Now().UnixNano(), b.told.Load()
	if now-last < int64(tellEvery) || !b.told.CompareAndSwap(last, now) {
		return
	}
	b.untold.Add(-untold)
	told := *f
	told.Holder, told.Refusals = h.String(), untold
	b.onFull(told)
}
