package memory

import (
	"hash/maphash"
	"sync"
	"time"
)

const shardCount = 64

var seed = maphash.MakeSeed()

// shard is one part of a map, with its lock.
type shard[V any] struct {
	mu sync.Mutex
	m  map[string]V
}

// shards is a map whose keys are spread over locks. Its zero value is empty.
type shards[V any] [shardCount]shard[V]

// of returns the shard of a key.
func (x *shards[V]) of(key string) *shard[V] { return &x[maphash.String(seed, key)%shardCount] }

// principals counts the sessions of each principal. Its locks are taken before a session's.
type principals struct{ owners shards[*owner] }

type owner struct {
	sessions map[*session]struct{}
	scanned  time.Time
}

// acquire counts a session if the bound allows it. At the bound it frees expired sessions that are
// not swept yet, at most once a second.
func (p *principals) acquire(m *Medium, s *session, now time.Time) bool {
	sh := p.owners.of(s.principal)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	o := sh.m[s.principal]
	if o == nil {
		o = &owner{sessions: make(map[*session]struct{})}
		put(&sh.m, s.principal, o)
	}
	if len(o.sessions) >= m.limits.SessionsPerPrincipal && now.Sub(o.scanned) >= min(time.Second, m.limits.SessionTTL) {
		o.scanned = now
		for old := range o.sessions {
			old.mu.Lock()
			if m.expired(old, now) {
				m.erase(old)
			}
			if old.gone {
				delete(o.sessions, old)
			}
			old.mu.Unlock()
		}
	}
	if len(o.sessions) >= m.limits.SessionsPerPrincipal {
		return false
	}
	o.sessions[s] = struct{}{}
	return true
}

// sessionsOf returns the ids of the sessions counted for a principal.
func (p *principals) sessionsOf(principal string) []string {
	sh := p.owners.of(principal)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	o := sh.m[principal]
	if o == nil {
		return nil
	}
	ids := make([]string, 0, len(o.sessions))
	for s := range o.sessions {
		ids = append(ids, s.id)
	}
	return ids
}

// release uncounts a session. Call it without the session's lock; a repeated call does nothing.
func (p *principals) release(s *session) {
	sh := p.owners.of(s.principal)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	o := sh.m[s.principal]
	if o == nil {
		return
	}
	delete(o.sessions, s)
	if len(o.sessions) == 0 {
		delete(sh.m, s.principal)
	}
}
