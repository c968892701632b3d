// Package once remembers for a time what may be used once: proofs of possession, and confirmations of calls.
package once

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Sweep is the interval at which a Memory drops expired entries, after which one that is full may accept more.
const Sweep = 10 * time.Second

// ErrFull means that a Memory cannot remember more.
var ErrFull = errors.New("too many entries are stored")

type digest [sha256.Size]byte

// Memory remembers in the memory of the process. It never drops an entry before its time: when it
// is full, it refuses more. It is safe for concurrent use.
type Memory struct {
	most int
	id   string

	mu sync.Mutex
	// used has the entries by the digests of their callers and ids.
	used map[digest]entry
	// callers has the callers with entries, by the digests of their names.
	callers map[digest]*caller
	// swept is when expired entries were last dropped.
	swept time.Time
}

// entry is something that was used.
type entry struct {
	until time.Time
	of    *caller
}

// caller is a caller with count entries.
type caller struct {
	name  digest
	count int
}

// NewMemory returns a Memory of at most most entries.
func NewMemory(most int) *Memory {
	return &Memory{most: most, id: rand.Text(), used: map[digest]entry{}, callers: map[digest]*caller{}}
}

// ID identifies this Memory: it knows nothing of what was used with another one.
func (m *Memory) ID() string { return m.id }

func digestOf(text string) digest { return sha256.Sum256([]byte(text)) }

// entryOf returns the digest of an id that a caller uses.
func entryOf(by digest, id string) digest { return digestOf(string(by[:]) + id) }

// Spend records that a caller used id, for the duration life. fresh is whether the caller did not use it before.
// An error is ErrFull, or a *mcp.Error of KindLimit if most entries of the caller are recorded.
func (m *Memory) Spend(_ context.Context, name, id string, life time.Duration, most int) (fresh bool, _ error) {
	by, now := digestOf(name), time.Now()
	d := entryOf(by, id)
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.swept) >= Sweep {
		m.sweep(now)
	}
	before, there := m.used[d]
	if there && now.Before(before.until) {
		return false, nil
	}
	if there {
		m.forget(d, before)
	}
	of := m.callers[by]
	switch {
	case of != nil && of.count >= most:
		return false, mcp.Errorf(mcp.KindLimit, "%d entries of the caller are stored, the limit", most)
	case len(m.used) >= m.most:
		return false, ErrFull
	case of == nil:
		of = &caller{name: by}
		m.callers[by] = of
	}
	of.count++
	m.used[d] = entry{now.Add(life), of}
	return true, nil
}

// Spent reports whether Spend has recorded id for a caller, and its time is not over.
func (m *Memory) Spent(_ context.Context, name, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one, there := m.used[entryOf(digestOf(name), id)]
	return there && time.Now().Before(one.until), nil
}

// sweep drops expired entries. The caller holds m.mu, as for forget.
func (m *Memory) sweep(now time.Time) {
	m.swept = now
	for d, one := range m.used {
		if !now.Before(one.until) {
			m.forget(d, one)
		}
	}
}

func (m *Memory) forget(d digest, one entry) {
	delete(m.used, d)
	if one.of.count--; one.of.count == 0 {
		delete(m.callers, one.of.name)
	}
}
