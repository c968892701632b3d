package budget

import (
	"context"
	"sync"
	"time"
)

// lapse is how long a permit to read lasts: who reads may be waiting for something that was not sent yet, and others
// are not to wait for that. It is longer than it takes to receive the largest message.
const lapse = 5 * time.Second

// Expect notes that something of an unknown size is being received, of at most so many bytes. It returns whether
// even then there is room enough, should all that is expected come and be as large as that: half of the limit. Then
// nothing needs to be asked before it is received. end is to be called with the same number when it has come.
//
// Nobody is refused anything for what is expected.
func (b *Budget) Expect(most int64) (roomy bool) {
	if b == nil {
		return true
	}
	return int64(b.state.Load()&bytesMask)+b.over.Load()+b.expected.Add(most) <= b.limit/2
}

// Expected ends what Expect began.
func (b *Budget) Expected(most int64) {
	if b != nil {
		b.expected.Add(-most)
	}
}

// Permit is the right to receive something whose size is not known.
type Permit struct {
	once sync.Once
	r    Reservation
	t    *time.Timer
}

// Permit waits until so many bytes may be held, or for a holder of less than an equal share a
// part of the last tenth, or fails with a *Full when ctx
// ends. The permit is for what is about to come; it lapses by itself after five seconds. The caller releases it.
func (h *Holder) Permit(ctx context.Context, w What, most int64) (*Permit, error) {
	p := &Permit{r: h.Begin()}
	if h == nil {
		return p, nil
	}
	h = h.live()
	charged := (*Holder)(nil)
	try := func() bool {
		n := most
		if charged = h.take(n, false); charged == nil {
			if n = h.modest(most); n > 0 {
				charged = h.take(n, false)
			}
		}
		if charged != nil {
			p.r.charged(charged, w, n)
		}
		return charged != nil
	}
	if !try() && !h.b.await(ctx, try) {
		return nil, h.refuse(w, least)
	}
	p.t = time.AfterFunc(lapse, p.end)
	return p, nil
}

// least is the smallest permit, in bytes.
const least = 64 << 10

// permits is how many permits the last tenth has room for.
const permits = 4

// modest is what a holder that holds less than an equal share can have of a full budget, at most so much and not less
// than the smallest permit; 0: nothing. A larger message is then received than was permitted, by few at a time.
func (h *Holder) modest(most int64) int64 {
	_, holders := h.b.Used()
	own := h.Used()
	if own == 0 {
		holders++
	}
	share := h.b.share(int64(holders))
	n := max(min(most, share/2, (h.b.limit-h.b.busy)/permits), least)
	if share-own < n {
		return 0
	}
	return n
}

func (p *Permit) end() { p.once.Do(func() { p.r.Release() }) }

// Release gives a permit back that was not yet. A nil Permit has nothing to give.
func (p *Permit) Release() {
	if p == nil {
		return
	}
	if p.t != nil {
		p.t.Stop()
	}
	p.end()
}
