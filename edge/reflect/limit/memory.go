package limit

import (
	"fmt"
	"sync"
)

// Estimates of what a model takes in memory. A declaration becomes a descriptor with its entries in maps. Its options are kept as they are. A schema is
// in the model, in the lists of the backend and in what clients are sent.
const (
	elementBytes    = 800
	descriptorTimes = 2
	schemaTimes     = 3
)

// Memory bounds what the models of services take that a process has learned, and what learning takes beside them as much again, in bytes as they are
// estimated. All methods are safe for concurrent use.
type Memory struct {
	most int64

	mu sync.Mutex // guards what follows, and all shares and rooms
	// shares is how many backends learn.
	shares int
	// kept is what models hold, learning what attempts to learn one hold.
	kept, learning int64
}

// NewMemory returns a Memory for so many bytes of models; with 0 or less, nil, which has no bound.
func NewMemory(most int64) *Memory {
	if most <= 0 {
		return nil
	}
	return &Memory{most: most}
}

// Used returns the bytes that models, and attempts to learn one, hold.
func (m *Memory) Used() (kept, learning int64) {
	if m == nil {
		return 0, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept, m.learning
}

// Join returns the share of one backend; nil if m is nil.
func (m *Memory) Join() *Share {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shares++
	return &Share{of: m}
}

// Share is what one backend has of a Memory. While its models take no more than an equal part they are never refused, whatever others
// hold. nil has no bound.
type Share struct{ of *Memory }

// Leave ends the share. Its rooms stay until they are released.
func (s *Share) Leave() {
	if s == nil {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.shares--
}

// Room begins what one attempt to learn the service holds.
func (s *Share) Room() *Room { return &Room{share: s} }

// Room is the memory of one model: of an attempt to learn it, and of the model once Keep was called. nil has no bound.
type Room struct {
	share *Share
	bytes int64
	// kept: it is a model's. released: it holds nothing, and takes no more.
	kept, released bool
}

// Take adds bytes to what the room holds. The error is the bound that they would exceed; then it holds what it held.
func (r *Room) Take(bytes int64) error {
	if r == nil || r.share == nil {
		return nil
	}
	m := r.share.of
	m.mu.Lock()
	defer m.mu.Unlock()
	held := &m.learning
	if r.kept {
		held = &m.kept
	}
	switch {
	case r.released:
		return fmt.Errorf("the service's methods were learned anew")
	case *held+bytes > m.most && r.bytes+bytes > m.part():
		return m.full(r.kept)
	}
	*held += bytes
	r.bytes += bytes
	return nil
}

// Keep makes the room that of a model, in place of the model that has old, which may be nil. The error is the bound that it would exceed; then it
// stays what it is.
func (r *Room) Keep(old *Room) error {
	if r == nil || r.share == nil {
		return nil
	}
	m := r.share.of
	m.mu.Lock()
	defer m.mu.Unlock()
	others := m.kept
	if old != nil && old.kept && !old.released {
		others -= old.bytes
	}
	if others+r.bytes > m.most && r.bytes > m.part() {
		return m.full(true)
	}
	m.learning -= r.bytes
	m.kept += r.bytes
	r.kept = true
	return nil
}

// Release ends what the room holds. It may be called more than once.
func (r *Room) Release() {
	if r == nil || r.share == nil {
		return
	}
	m := r.share.of
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case r.released:
	case r.kept:
		m.kept -= r.bytes
	default:
		m.learning -= r.bytes
	}
	r.released = true
}

// most is the bound of the room's memory; 0: there is none.
func (r *Room) most() int64 {
	if r == nil || r.share == nil {
		return 0
	}
	return r.share.of.most
}

// part is an equal part of the memory. The caller holds mu.
func (m *Memory) part() int64 { return m.most / int64(max(m.shares, 1)) }

// full is the error that there is no more room. The caller holds mu.
func (m *Memory) full(kept bool) error {
	what := "the services that are being learned"
	if kept {
		what = "the services that were learned"
	}
	return fmt.Errorf("%s take more than %d bytes of memory together, a quarter of the setting memory, and this one more than its equal part, %d: "+
		"raise memory, or select fewer services with include", what, m.most, m.part())
}
