package limit

import (
	"fmt"
	"sync"
)

// Estimates of a model's memory. A declaration becomes a descriptor with entries in maps. Its
// options stay encoded. A schema is stored in the model, in the backend's lists and in responses to
// clients.
const (
	elementBytes    = 800
	descriptorTimes = 2
	schemaTimes     = 3
)

// Memory bounds the estimated memory of the models of a process, and separately, by the same
// amount, that of learning. All methods are safe for concurrent use.
type Memory struct {
	most int64

	mu sync.Mutex // guards the fields below, and all shares and rooms
	// shares is the number of backends with a share.
	shares int
	// kept is the memory of models, learning that of running attempts.
	kept, learning int64
}

// NewMemory returns a Memory that bounds models to so many bytes. For 0 or less it returns nil,
// which has no bound.
func NewMemory(most int64) *Memory {
	if most <= 0 {
		return nil
	}
	return &Memory{most: most}
}

// Used returns the memory of models and of running attempts.
func (m *Memory) Used() (kept, learning int64) {
	if m == nil {
		return 0, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept, m.learning
}

// Join returns a share for one backend; nil if m is nil.
func (m *Memory) Join() *Share {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shares++
	return &Share{of: m}
}

// Share is the part of a Memory that belongs to one backend. Models that take at most an equal part
// are never refused, whatever others use. nil has no bound.
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

// Room returns an empty room for one attempt to learn the service.
func (s *Share) Room() *Room { return &Room{share: s} }

// Room accounts for the memory of one attempt to learn a service, and after Keep, of its model. nil
// has no bound.
type Room struct {
	share *Share
	bytes int64
	// kept reports that it belongs to a model. released means that it is empty and refuses Take.
	kept, released bool
}

// Take adds bytes to the room. If they would exceed the bound, it returns an error and adds
// nothing.
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
		return fmt.Errorf("the service's methods were learned again")
	case *held+bytes > m.most && r.bytes+bytes > m.part():
		return m.full(r.kept)
	}
	*held += bytes
	r.bytes += bytes
	return nil
}

// Keep assigns the room to a model that replaces the model of old, which may be nil. If that would
// exceed the bound, it returns an error and changes nothing.
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

// Release empties the room. It may be called more than once.
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

// most returns the bound of the room's memory; 0 means none.
func (r *Room) most() int64 {
	if r == nil || r.share == nil {
		return 0
	}
	return r.share.of.most
}

// part returns an equal part of the memory. The caller holds mu.
func (m *Memory) part() int64 { return m.most / int64(max(m.shares, 1)) }

// full returns the error of a full Memory. The caller holds mu.
func (m *Memory) full(kept bool) error {
	what := "the services that are being learned"
	if kept {
		what = "the services that were learned"
	}
	return fmt.Errorf("%s take more than %d bytes of memory together, a quarter of server.memory, and this one more than its equal part, %d: "+
		"raise server.memory, or select fewer services with include", what, m.most, m.part())
}
