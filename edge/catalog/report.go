package catalog

import (
	"hash/maphash"
	"log/slog"
	"sync"
)

// reporter logs each mistake of a backend once, although lists are merged repeatedly. It remembers
// a bounded number of them.
type reporter struct {
	log  *slog.Logger
	mu   sync.Mutex
	seed maphash.Seed
	// seen holds digests of keys, because keys may contain texts of backends.
	seen map[uint64]struct{}
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
	if r.seen == nil {
		r.seed = maphash.MakeSeed()
	}
	digest := maphash.String(r.seed, key)
	if _, ok := r.seen[digest]; ok {
		return false
	}
	if r.seen == nil || len(r.seen) >= maxReported {
		r.seen = make(map[uint64]struct{})
	}
	r.seen[digest] = struct{}{}
	return true
}

// Clip bounds a client's text for messages and logs.
func Clip(s string) string {
	const most = 256
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
