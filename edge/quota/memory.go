package quota

import (
	"context"
	"maps"
	"sync"
	"time"
)

// maxKeys bounds the budgets that a Memory keeps. Full budgets are removed. Beyond the bound, new
// keys share one budget.
const maxKeys = 100_000

// overflow is the key of the budget shared beyond maxKeys. No rule has this key.
const overflow = ""

// Memory is the Store of a single replica. Safe for concurrent use. The zero value is ready to use.
type Memory struct {
	mu sync.Mutex
	// full is when the budget of a key is full again.
	full map[string]time.Time
	// purged is when full budgets were last removed.
	purged time.Time
}

var _ Store = (*Memory)(nil)

// Take implements Store. It never fails.
func (m *Memory) Take(_ context.Context, key string, b Budget, want int) (granted int, wait time.Duration, err error) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	key = m.boundedKey(key, now)
	granted, m.full[key], wait = b.spend(now, m.full[key], want)
	return granted, wait, nil
}

// Return implements Store. It never fails.
func (m *Memory) Return(_ context.Context, key string, b Budget, n int) error {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	key = m.boundedKey(key, now)
	m.full[key] = b.restore(now, m.full[key], n)
	return nil
}

// Sharing implements Store.
func (m *Memory) Sharing(context.Context) (int, error) { return 1, nil }

// boundedKey returns key, or overflow if key is new and the bound is reached.
func (m *Memory) boundedKey(key string, now time.Time) string {
	if m.full == nil {
		m.full = map[string]time.Time{}
	}
	if now.Sub(m.purged) >= time.Second {
		m.purged = now
		maps.DeleteFunc(m.full, func(_ string, full time.Time) bool { return !full.After(now) })
	}
	if _, ok := m.full[key]; !ok && len(m.full) >= maxKeys {
		return overflow
	}
	return key
}
