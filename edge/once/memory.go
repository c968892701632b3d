// Package once remembers for a time what may be used once: proofs of possession, confirmations of
// calls, and ids of ended sessions.
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

// Sweep is the interval at which a Memory drops expired entries. A full Memory accepts new ones
// after that.
const Sweep = 10 * time.Second

// ErrFull means that a Memory has no room for another entry.
var ErrFull = errors.New("too many entries are stored")

type digest [sha256.Size]byte

// Memory keeps entries in the memory of the process. It never drops an entry before it expires:
// when it is full, it refuses new ones. It is safe for concurrent use.
type Memory struct {
	capacity int
	id       string

	mu sync.Mutex
	// used maps the digests of callers and ids to entries.
	used map[digest]entry
	// callers maps the digests of names to the callers that have entries.
	callers map[digest]*caller
	// swept is the time of the last sweep.
	swept time.Time
}

// entry is the use of an id by a caller.
type entry struct {
	until time.Time
	of    *caller
}

// caller counts the entries of a caller.
type caller struct {
	name  digest
	count int
}

// NewMemory returns a Memory for up to most entries, counted over all callers.
func NewMemory(most int) *Memory {
	return &Memory{capacity: most, id: rand.Text(), used: map[digest]entry{}, callers: map[digest]*caller{}}
}

// ID returns a random identifier of this Memory. Another Memory does not know its entries.
func (m *Memory) ID() string { return m.id }

func digestOf(text string) digest { return sha256.Sum256([]byte(text)) }

// entryOf returns the digest of a caller's id. by is the digest of the caller's name.
func entryOf(by digest, id string) digest { return digestOf(string(by[:]) + id) }

// Spend records for the duration life that a caller used id. fresh is false if an earlier use is
// still recorded. The error is ErrFull, or a *mcp.Error of KindLimit if the caller has most
// entries.
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
	case len(m.used) >= m.capacity:
		return false, ErrFull
	case of == nil:
		of = &caller{name: by}
		m.callers[by] = of
	}
	of.count++
	m.used[d] = entry{now.Add(life), of}
	return true, nil
}

// Spent reports whether a use of id by a caller is recorded and has not expired.
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
