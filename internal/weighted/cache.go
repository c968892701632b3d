// Package weighted provides a cache with weighted entries.
package weighted

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache holds entries up to a maximum number and a maximum total weight. It evicts the least
// recently used entry first. The newest entry is kept whatever its weight. It is safe for
// concurrent use.
type Cache[K comparable, V any] struct {
	mu        sync.Mutex
	entries   *simplelru.LRU[K, weighed[V]]
	weight    int
	maxWeight int
}

// weighed is a value with its weight.
type weighed[V any] struct {
	value  V
	weight int
}

// New returns a cache with the given maximum number of entries, at least 1, and maximum total
// weight.
func New[K comparable, V any](entries, weight int) *Cache[K, V] {
	c := &Cache[K, V]{maxWeight: weight}
	c.entries, _ = simplelru.NewLRU(max(1, entries), func(_ K, e weighed[V]) { c.weight -= e.weight }) // fails only for a size below 1
	return c
}

// Get returns a value and makes it the most recently used.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries.Get(key)
	return e.value, ok
}

// Add adds or replaces a value. Its weight is 0 or more.
func (c *Cache[K, V]) Add(key K, value V, weight int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Remove(key)
	c.weight += weight
	c.entries.Add(key, weighed[V]{value, weight})
	for c.weight > c.maxWeight && c.entries.Len() > 1 {
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

// Weight returns the total weight.
func (c *Cache[K, V]) Weight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.weight
}
