package client

import (
	"slices"
	"strings"
	"sync"
)

// sessionIDs are the session ids of a server. They must not be printed. It is safe for concurrent
// use.
type sessionIDs struct {
	mu  sync.Mutex
	ids []string
}

// add adds the session id of a response. Empty means that it has none.
func (s *sessionIDs) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != "" && !slices.Contains(s.ids, id) {
		s.ids = append(s.ids, id)
	}
}

// withoutSessions removes session ids from an error of the SDK.
func (h *headed) withoutSessions(text string) string {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	for _, id := range h.sessions.ids {
		text = strings.ReplaceAll(text, " (session ID: "+id+")", "")
		text = strings.ReplaceAll(text, id, "…")
	}
	return text
}
