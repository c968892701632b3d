package budget

import (
	"hash/maphash"
	"net/netip"
	"sync"
)

// table finds holders by their keys. When it has grown to twice the size after the last cleanup, it
// removes those without reservations, so its size is bounded by the number of holders with
// reservations.
type table struct {
	seed   maphash.Seed
	shards [64]tableShard
}

type tableShard struct {
	mu sync.RWMutex
	m  map[key]*Holder
	// next is the size at which the shard is cleaned up.
	next int
	_    [24]byte // keeps neighbours off one cache line
}

// key identifies a holder: a principal, whose subject may be a client's id, an address, or one of
// the edge's own names.
type key struct {
	issuer, subject string
	client          bool
	addr            netip.Addr
	name            string
}

// leastTable is the number of holders below which a shard is not cleaned up.
const leastTable = 64

func (t *table) init() {
	t.seed = maphash.MakeSeed()
	for i := range t.shards {
		t.shards[i].m, t.shards[i].next = map[key]*Holder{}, leastTable
	}
}

func (t *table) holder(b *Budget, k key) *Holder {
	s := &t.shards[maphash.Comparable(t.seed, k)%uint64(len(t.shards))]
	s.mu.RLock()
	h := s.m[k]
	s.mu.RUnlock()
	if h != nil && !h.retired() {
		return h
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h = s.m[k]; h != nil && !h.retired() {
		return h
	}
	if len(s.m) >= s.next {
		for k, h := range s.m {
			if h.retire() {
				delete(s.m, k)
			}
		}
		s.next = max(2*len(s.m), leastTable)
	}
	h = &Holder{b: b, key: k}
	s.m[k] = h
	return h
}

func (t *table) size() (n int) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.RLock()
		n += len(s.m)
		s.mu.RUnlock()
	}
	return n
}
