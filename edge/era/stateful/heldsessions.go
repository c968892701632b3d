package stateful

import "sync"

// heldSessions are the sessions that are held here, by id. The zero value is empty. Safe for concurrent use.
type heldSessions struct{ byID sync.Map }

// get returns nil when the session is not held.
func (h *heldSessions) get(id string) *held {
	v, _ := h.byID.Load(id)
	s, _ := v.(*held)
	return s
}

// getOrPut returns the held session, or puts fresh in its place.
func (h *heldSessions) getOrPut(id string, fresh *held) *held {
	v, _ := h.byID.LoadOrStore(id, fresh)
	return v.(*held)
}

// remove forgets s, unless another copy has its place.
func (h *heldSessions) remove(s *held) {
	if h.byID.CompareAndDelete(s.id, s) {
		s.forget()
	}
}

// count is how many are held now.
func (h *heldSessions) count() (n int) {
	h.byID.Range(func(any, any) bool { n++; return true })
	return n
}

// all returns the sessions held now.
func (h *heldSessions) all() (out []*held) {
	h.byID.Range(func(_, v any) bool {
		out = append(out, v.(*held))
		return true
	})
	return out
}
