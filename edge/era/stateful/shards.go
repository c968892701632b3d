package stateful

import (
	"hash/maphash"
	"sync"
)

// shards maps session ids to held sessions, so that no lock is shared by all sessions.
type shards struct {
	seed maphash.Seed
	list [64]shard
}

type shard struct {
	mu sync.RWMutex
	m  map[string]*held
	_  [32]byte // keeps neighbours off one cache line
}

func (h *shards) init() {
	h.seed = maphash.MakeSeed()
	for i := range h.list {
		h.list[i].m = make(map[string]*held)
	}
}

func (h *shards) of(id string) *shard {
	return &h.list[maphash.String(h.seed, id)%uint64(len(h.list))]
}

// get returns nil when the session is not held.
func (h *shards) get(id string) *held {
	sh := h.of(id)
	sh.mu.RLock()
	s := sh.m[id]
	sh.mu.RUnlock()
	return s
}

// getOrPut returns the held session, or puts what fresh makes.
func (h *shards) getOrPut(id string, fresh func() *held) *held {
	sh := h.of(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s := sh.m[id]
	if s == nil {
		s = fresh()
		sh.m[id] = s
	}
	return s
}

// remove forgets s, unless another copy has its place.
func (h *shards) remove(s *held) {
	sh := h.of(s.id)
	sh.mu.Lock()
	mine := sh.m[s.id] == s
	if mine {
		delete(sh.m, s.id)
	}
	sh.mu.Unlock()
	if mine {
		s.forget()
	}
}

// count is how many are held now.
func (h *shards) count() (n int) {
	for i := range h.list {
		sh := &h.list[i]
		sh.mu.RLock()
		n += len(sh.m)
		sh.mu.RUnlock()
	}
	return n
}

// all returns the sessions held now.
func (h *shards) all() []*held {
	var out []*held
	for i := range h.list {
		sh := &h.list[i]
		sh.mu.RLock()
		for _, s := range sh.m {
			out = append(out, s)
		}
		sh.mu.RUnlock()
	}
	return out
}
