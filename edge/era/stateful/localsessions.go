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

// remove removes s, unless another copy has replaced it.
func (h *localSessions) remove(s *localSession) {
	if h.byID.CompareAndDelete(s.id, s) {
		s.forget()
	}
}

// all yields the held sessions.
func (h *localSessions) all(yield func(*localSession) bool) {
	h.byID.Range(func(_, v any) bool { return yield(v.(*localSession)) })
}
