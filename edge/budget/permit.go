package budget

import (
	"context"
	"sync"
	"time"
)

// lapse is how long a permit holds its bytes at most. Whoever has one may wait for something that was not sent yet, and
// others are not to wait for that. It is longer than the largest message takes on a network of 100 Mbit/s.
const lapse = 2 * time.Second

// Permit is the right to receive something whose size is known only once it is in memory.
type Permit struct {
	once sync.Once
	r    Reservation
	slot bool // it has Budget.unmeasured
	t    *time.Timer
}

// Permit waits until n bytes may be held for what is about to come, or fails with a *Full when ctx ends. n is an
// estimate: what came is charged by whoever received it. An n beyond half of nine tenths of the limit is lowered to
// that, so that even the largest is received where nothing else is held.
//
// Without measured, n is the most that may come, since nothing like it ever came. Where there is no room for
// that, one such permit at a time, of the whole process, is given all the same: it measures.
//
// The permit ends with Release, or by itself after two seconds.
func (h *Holder) Permit(ctx context.Context, why Purpose, n int64, measured bool) (*Permit, error) {
	p := &Permit{r: h.Begin()}
	if h == nil {
		return p, nil
	}
	n = min(n, h.b.busy/2)
	take := h.ask // what the holder can do without is freed before it waits
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
	p.t = time.AfterFunc(lapse, p.end)
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

// Release ends the permit. Again it does nothing, nor on a nil Permit.
func (p *Permit) Release() {
	if p == nil {
		return
	}
	if p.t != nil {
		p.t.Stop()
	}
	p.end()
}
