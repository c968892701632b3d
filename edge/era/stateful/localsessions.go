package stateful

import "sync"

// localSessions are the sessions that are held here, by id. The zero value is empty. Safe for concurrent use.
type localSessions struct{ byID sync.Map }

// get returns nil when the session is not held.
func (h *localSessions) get(id string) *localSession {
	v, _ := h.byID.Load(id)
	s, _ := v.(*localSession)
	return s
}

// getOrPut returns the held session, or puts fresh in its place.
func (h *localSessions) getOrPut(id string, fresh *localSession) *localSession {
	v, _ := h.byID.LoadOrStore(id, fresh)
	return v.(*localSession)
}

// remove forgets s, unless another copy has its place.
func (h *localSessions) remove(s *localSession) {
	if h.byID.CompareAndDelete(s.id, s) {
		s.forget()
	}
}

// count is how many are held now.
func (h *localSessions) count() (n int) {
	h.byID.Range(func(any, any) bool { n++; return true })
	return n
}

// all returns the sessions held now.
func (h *localSessions) all() (out []*localSession) {
	h.byID.Range(func(_, v any) bool {
		out = append(out, v.(*localSession))
		return true
	})
	return out
}
