package dispatch

import (
	"log/slog"
	"sync"
)

// reporter logs the mistakes of backends, each once, though lists are merged again and again. It remembers a
// bounded number of them.
type reporter struct {
	log  *slog.Logger
	mu   sync.Mutex
	seen map[string]struct{}
}

const maxReported = 10_000

// once logs a warning unless one with the same key was logged before.
func (r *reporter) once(key, message string, args ...any) {
	if r.first(key) {
		r.log.Warn(message, args...)
	}
}

func (r *reporter) first(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.seen[key]; ok {
		return false
	}
	if r.seen == nil || len(r.seen) >= maxReported {
		r.seen = make(map[string]struct{})
	}
	r.seen[key] = struct{}{}
	return true
}
