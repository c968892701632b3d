package memory

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"time"
)

const shardCount = 64

var seed = maphash.MakeSeed()

// sessionSet is a set of sessions with its lock.
type sessionSet struct {
	mu  sync.Mutex
	set map[*session]struct{}
}

// running holds the sessions with calls that are not done, for Beat. Its locks are taken inside a
// session's.
type running [shardCount]sessionSet

func (x *running) init() {
	for i := range x {
		x[i].set = make(map[*session]struct{})
	}
}

func (x *running) shard(s *session) *sessionSet {
	return &x[maphash.String(seed, s.id)%shardCount]
}

func (x *running) add(s *session) {
	sh := x.shard(s)
	sh.mu.Lock()
	sh.set[s] = struct{}{}
	sh.mu.Unlock()
}

func (x *running) remove(s *session) {
	sh := x.shard(s)
	sh.mu.Lock()
	delete(sh.set, s)
	sh.mu.Unlock()
}

// each visits the sessions until visit returns false, without a lock and in a random order.
func (x *running) each(visit func(*session) bool) {
	first := rand.IntN(shardCount) // #nosec G404 -- an order is no secret
	var some []*session
	for i := range x {
		sh := &x[(first+i)%shardCount]
		some = some[:0]
		sh.mu.Lock()
		for s := range sh.set {
			some = append(some, s)
		}
		sh.mu.Unlock()
		for _, s := range some {
			if !visit(s) {
				return
			}
		}
	}
}

// principals counts the sessions of each principal. Its locks are taken before a session's.
type principals [shardCount]struct {
	mu     sync.Mutex
	owners map[string]*owner
}

type owner struct {
	sessions map[*session]struct{}
	scanned  time.Time
}

func (p *principals) init() {
	for i := range p {
		p[i].owners = make(map[string]*owner)
	}
}

// acquire counts a session if the bound allows it. At the bound it frees expired sessions that are
// not swept yet, at most once a second.
func (p *principals) acquire(m *Medium, s *session, now time.Time) bool {
	sh := &p[maphash.String(seed, s.principal)%shardCount]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	o := sh.owners[s.principal]
	if o == nil {
		o = &owner{sessions: make(map[*session]struct{})}
		sh.owners[s.principal] = o
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
	sh := &p[maphash.String(seed, principal)%shardCount]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	o := sh.owners[principal]
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
	sh := &p[maphash.String(seed, s.principal)%shardCount]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	o := sh.owners[s.principal]
	if o == nil {
		return
	}
	delete(o.sessions, s)
	if len(o.sessions) == 0 {
		delete(sh.owners, s.principal)
	}
}
