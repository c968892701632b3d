// Package weighted has a cache whose entries weigh differently.
package weighted

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache keeps entries up to a number and a weight, and evicts the least recently used first. The newest one is kept whatever its weight. It is safe
// for concurrent use.
type Cache[K comparable, V any] struct {
	mu      sync.Mutex
	entries *simplelru.LRU[K, weighed[V]]
	weight  int
	most    int
}

// weighed is a value with its weight.
type weighed[V any] struct {
	value  V
	weight int
}

// New makes a cache of at most so many entries, 1 or more, whose weights are at most that together.
func New[K comparable, V any](entries, weight int) *Cache[K, V] {
	c := &Cache[K, V]{most: weight}
	c.entries, _ = simplelru.NewLRU(max(1, entries), func(_ K, e weighed[V]) { c.weight -= e.weight }) // it fails for less than 1 only
	return c
}

// Get returns a value and makes it the most recently used one.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries.Get(key)
	return e.value, ok
}

// Add adds or replaces a value with its weight, 0 or more.
func (c *Cache[K, V]) Add(key K, value V, weight int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Remove(key)
	c.weight += weight
	c.entries.Add(key, weighed[V]{value, weight})
	for c.weight > c.most && c.entries.Len() > 1 {
		c.entries.RemoveOldest()
	}
}

// Purge removes all values.
func (c *Cache[K, V]) Purge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Purge()
}

// Len returns the number of values.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Len()
}

// Weight returns the weight of all values.
func (c *Cache[K, V]) Weight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.weight
}
