package budget

// Reservation is the memory of one piece of work. The zero value holds nothing and has no holder;
// make others with Holder.Reserve or Holder.Begin. It must not be copied after its first use. It is
// not safe for concurrent use.
type Reservation struct {
	h *Holder
	// by are the held bytes for each purpose.
	by [purposes]int64
	// offer is the size that Offer held without room, and offered its purpose.
	offer   int64
	offered Purpose
}

// Begin returns an empty reservation.
func (h *Holder) Begin() Reservation { return Reservation{h: h} }

// Reserve returns a reservation of n bytes, or fails with a *Full.
func (h *Holder) Reserve(p Purpose, n int64) (Reservation, error) {
	r := h.Begin()
	return r, r.Grow(p, n)
}

// Holder returns the charged holder, or nil if r is nil or counts nothing.
func (r *Reservation) Holder() *Holder {
	if r == nil {
		return nil
	}
	return r.h
}

// Held returns the bytes that are held for a purpose.
func (r *Reservation) Held(p Purpose) int64 {
	if r == nil {
		return 0
	}
	return r.by[p]
}

// Grow holds n more bytes, n ≥ 0, or fails with a *Full and changes nothing.
func (r *Reservation) Grow(p Purpose, n int64) error {
	if !r.Try(p, n) {
		return r.h.refuse(p, n)
	}
	return nil
}

// Try is Grow for callers that do something else without room. It does not count as a refusal.
func (r *Reservation) Try(p Purpose, n int64) bool {
	if r == nil || r.h == nil || n <= 0 {
		return true
	}
	charged := r.h.admit(n)
	if charged != nil {
		r.charged(charged, p, n)
	}
	return charged != nil
}

// Force holds n more bytes, admitted or not. It is for memory that is in use already and can no
// longer be refused.
func (r *Reservation) Force(p Purpose, n int64) {
	if r == nil || r.h == nil || n <= 0 {
		return
	}
	r.charged(r.h.take(n, true), p, n)
}

// Offer is Grow for a small amount that must not be refused yet, because it may belong to a message
// that frees memory. Where Grow would fail, Offer holds the bytes nevertheless, and Check fails.
func (r *Reservation) Offer(p Purpose, n int64) {
	if r == nil || r.h == nil || n <= 0 {
		return
	}
	charged := r.h.admit(n)
	if charged == nil {
		r.offered, r.offer = p, n
		charged = r.h.take(n, true)
	}
	r.charged(charged, p, n)
}

// Check fails with a *Full if there was no room for an Offer.
func (r *Reservation) Check() error {
	if r == nil || r.offer == 0 {
		return nil
	}
	return r.h.refuse(r.offered, r.offer)
}

// charged records the charged holder. If the table has removed the previous one, that held nothing
// of this reservation.
func (r *Reservation) charged(h *Holder, p Purpose, n int64) {
	r.h = h
	r.by[p] += n
	h.b.byPurpose[p].Add(n)
}

// Shrink holds n fewer bytes, at most what is held for the purpose.
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

// Settle sets the bytes that are held for a purpose, by Force or Shrink.
func (r *Reservation) Settle(p Purpose, n int64) {
	if held := r.Held(p); n > held {
		r.Force(p, n-held)
	} else {
		r.Shrink(p, held-n)
	}
}

// Release releases everything. Further calls do nothing.
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
