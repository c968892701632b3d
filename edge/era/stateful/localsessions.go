package stateful

import "sync"

// localSessions are the sessions held here, by id. The zero value is empty. It is safe for
// concurrent use.
type localSessions struct{ byID sync.Map }

// get returns the held session, or nil.
func (h *localSessions) get(id string) *localSession {
	v, _ := h.byID.Load(id)
	s, _ := v.(*localSession)
	return s
}

// getOrPut returns the held session, or stores and returns fresh.
func (h *localSessions) getOrPut(id string, fresh *localSession) *localSession {
	v, _ := h.byID.LoadOrStore(id, fresh)
	return v.(*localSession)
}

// remove removes s, unless another copy has replaced it.
func (h *localSessions) remove(s *localSession) {
	if h.byID.CompareAndDelete(s.id, s) {
		s.forget()
	}
}

// count returns the number of held copies.
func (h *localSessions) count() (n int) {
	h.byID.Range(func(any, any) bool { n++; return true })
	return n
}

// all returns the held sessions.
func (h *localSessions) all() (out []*localSession) {
	h.byID.Range(func(_, v any) bool {
		out = append(out, v.(*localSession))
		return true
	})
	return out
}
