package auth

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// digest is the SHA-256 of a token, the only part of it that is stored.
type digest = [sha256.Size]byte

// verified is the result of verifying a token.
type verified struct {
	principal mcp.Principal
	// boundTo is the thumbprint of the key that the token is bound to. Empty means none.
	boundTo string
	// isKey is true for an API key.
	isKey bool
	// audiences are those of a token, in canonical form, that name the edge or one of its sets. nil
	// means that the credentials are accepted everywhere.
	audiences []string
	// until is when it must be verified again.
	until time.Time
	// keep are the claims that the principal was made with.
	keep *KeptClaims
}

// cache caches valid tokens, and evicts the least recently used. It is split into shards, so that
// calls of many sessions do not share a lock. It is safe for concurrent use.
type cache struct {
	shards [32]struct {
		mu  sync.Mutex
		lru *simplelru.LRU[digest, verified]
	}
}

func newCache(entries int) *cache {
	c := &cache{}
	for i := range c.shards {
		c.shards[i].lru, _ = simplelru.NewLRU[digest, verified](max(entries/len(c.shards), 1), nil) // fails only for a size of 0
	}
	return c
}

// get returns a token that is still valid.
func (c *cache) get(d digest, now time.Time) (verified, bool) {
	s := &c.shards[int(d[0])%len(c.shards)]
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.lru.Get(d)
	if !ok {
		return verified{}, false
	}
	if !now.Before(v.until) {
		s.lru.Remove(d)
		return verified{}, false
	}
	return v, true
}

func (c *cache) put(d digest, v verified) {
	s := &c.shards[int(d[0])%len(c.shards)]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lru.Add(d, v)
}
