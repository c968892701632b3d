package budget

import (
	"context"
	"sync"
	"time"
)

// permitTimeout bounds the time that a permit holds its bytes, because its owner may wait for a message
// that was not sent yet, which must not block others. It exceeds the transfer time of the largest
// message at 100 Mbit/s.
const permitTimeout = 2 * time.Second

// Permit is the right to receive a message whose size is known only once it is in memory.
type Permit struct {
	once sync.Once
	r    Reservation
	slot bool // it has set Budget.unmeasured
	t    *time.Timer
}

// Permit waits until n bytes may be held for a message that is about to arrive, or fails with a
// *Full when ctx ends. n is an estimate; the receiver charges the actual size. A larger n is
// lowered to half of nine tenths of the limit, so that the largest message can be received if
// nothing else is held.
//
// With measured false, no such message was received before, and n is the maximum. Without room for
// it, one such permit in the process is granted nevertheless, to measure the size.
//
// The permit ends with Release, or by itself after two seconds.
func (h *Holder) Permit(ctx context.Context, why Purpose, n int64, measured bool) (*Permit, error) {
	p := &Permit{r: h.Begin()}
	if h == nil {
		return p, nil
	}
	n = min(n, h.b.busy/2)
	take := h.admit // the first attempt may free what the holder can do without
	try := func() bool {
		charged := take(n)
		take = func(n int64) *Holder { return h.take(n, false) }
		if charged != nil {
			p.r.charged(charged, why, n)
			return true
		}
		p.slot = !measured && h.b.unmeasured.CompareAndSwap(false, true)
		return p.slot
	}
	if !try() && !h.b.await(ctx, try) {
		return nil, h.refuse(why, n)
	}
	p.t = time.AfterFunc(permitTimeout, p.end)
	return p, nil
}

func (p *Permit) end() {
	p.once.Do(func() {
		p.r.Release()
		if p.slot {
			p.r.h.b.unmeasured.Store(false)
			p.r.h.b.wake()
		}
	})
}

// Release ends the permit. Further calls, and calls on a nil Permit, do nothing.
func (p *Permit) Release() {
	if p == nil {
		return
	}
	if p.t != nil {
		p.t.Stop()
	}
	p.end()
}
