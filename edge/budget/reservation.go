package budget

// Reservation is what one piece of work holds. The zero value holds nothing, on nobody's behalf; make others with
// Holder.Reserve or Holder.Begin. It must not be copied once it is used. Not safe for concurrent use.
type Reservation struct {
	h *Holder
	// by is what the bytes are held for.
	by [purposes]int64
	// offer is what was offered and not admitted, and offered for what.
	offer   int64
	offered Purpose
}

// Begin makes a reservation that holds nothing yet.
func (h *Holder) Begin() Reservation { return Reservation{h: h} }

// Reserve makes a reservation of n bytes, or fails with a *Full.
func (h *Holder) Reserve(p Purpose, n int64) (Reservation, error) {
	r := h.Begin()
	return r, r.Grow(p, n)
}

// Holder is on whose behalf it is held; nil on nil, and where nothing is counted.
func (r *Reservation) Holder() *Holder {
	if r == nil {
		return nil
	}
	return r.h
}

// Held is what is held for something, in bytes.
func (r *Reservation) Held(p Purpose) int64 {
	if r == nil {
		return 0
	}
	return r.by[p]
}

// Grow holds n bytes more, n ≥ 0, or fails with a *Full and changes nothing.
func (r *Reservation) Grow(p Purpose, n int64) error {
	if !r.Try(p, n) {
		return r.h.refuse(p, n)
	}
	return nil
}

// Try is Grow for who does something else where there is no room: that is no refusal.
func (r *Reservation) Try(p Purpose, n int64) bool {
	if r == nil || r.h == nil || n <= 0 {
		return true
	}
	charged := r.h.ask(n)
	if charged != nil {
		r.charged(charged, p, n)
	}
	return charged != nil
}

// Force holds n bytes more whether they are admitted or not. It is for what is in memory already and cannot be
// refused any more.
func (r *Reservation) Force(p Purpose, n int64) {
	if r == nil || r.h == nil || n <= 0 {
		return
	}
	r.charged(r.h.take(n, true), p, n)
}

// Offer is Grow for what is small and may turn out to be something that makes room, which is not to be refused: where
// Grow would fail, it is held all the same, and Check fails.
func (r *Reservation) Offer(p Purpose, n int64) {
	if r == nil || r.h == nil || n <= 0 {
		return
	}
	charged := r.h.ask(n)
	if charged == nil {
		r.offered, r.offer = p, n
		charged = r.h.take(n, true)
	}
	r.charged(charged, p, n)
}

// Check fails with a *Full when there was no room for what was offered.
func (r *Reservation) Check() error {
	if r == nil || r.offer == 0 {
		return nil
	}
	return r.h.refuse(r.offered, r.offer)
}

// charged notes who was charged. A holder that the table had forgotten held nothing of this reservation.
func (r *Reservation) charged(h *Holder, p Purpose, n int64) {
	r.h = h
	r.by[p] += n
	h.b.byPurpose[p].Add(n)
}

// Shrink holds n bytes less, at most what is held for it.
func (r *Reservation) Shrink(p Purpose, n int64) {
	if r == nil || r.h == nil {
		return
	}
	if n = min(n, r.by[p]); n <= 0 {
		return
	}
	r.by[p] -= n
	r.h.b.byPurpose[p].Add(-n)
	r.h.give(n)
}

// Settle makes what is held for something n bytes, by Force or Shrink.
func (r *Reservation) Settle(p Purpose, n int64) {
	if held := r.Held(p); n > held {
		r.Force(p, n-held)
	} else {
		r.Shrink(p, held-n)
	}
}

// Release holds nothing any more. Again it does nothing.
func (r *Reservation) Release() {
	if r == nil || r.h == nil {
		return
	}
	total := int64(0)
	r.offer = 0
	for w := range r.by {
		if n := r.by[w]; n > 0 {
			r.by[w] = 0
			r.h.b.byPurpose[w].Add(-n)
			total += n
		}
	}
	if total > 0 {
		r.h.give(total)
	}
}
