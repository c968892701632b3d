package client

import (
	"slices"
	"strings"
	"sync"
)

// sessionIDs are the session ids of a server, which its operators keep out of logs. It is safe for
// concurrent use.
type sessionIDs struct {
	mu  sync.Mutex
	ids []string
}

// add adds the id of a response; empty if it has none.
func (s *sessionIDs) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != "" && !slices.Contains(s.ids, id) {
		s.ids = append(s.ids, id)
	}
}

// withoutSessions removes the session ids that the SDK writes into errors.
func (h *headed) withoutSessions(text string) string {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	for _, id := range h.sessions.ids {
		text = strings.ReplaceAll(text, " (session ID: "+id+")", "")
		text = strings.ReplaceAll(text, id, "…")
	}
	return text
}
