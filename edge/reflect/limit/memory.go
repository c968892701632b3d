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
//
//	an attempt to learn: Share.Room ─► Take … ─► Keep, a model: Take … ─► Release
//	                                        └──► Release
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
func (s *Share) Room() *Room {
	if s == nil {
		return nil
	}
	return &Room{of: s.of, in: &s.of.learning}
}

// Room accounts for the memory of one attempt to learn a service, and after Keep, of its model. nil
// has no bound.
type Room struct {
	of *Memory
	// bytes are a part of *in: of learning or, after Keep, of kept. nil means that the room is released.
	bytes int64
	in    *int64
}

// Take adds bytes to the room. If they would exceed the bound, it returns an error and adds
// nothing.
func (r *Room) Take(bytes int64) error {
	if r == nil {
		return nil
	}
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.in == nil {
		return fmt.Errorf("the service's methods were learned again")
	}
	if err := r.of.fits(r.in, *r.in+bytes, r.bytes+bytes); err != nil {
		return err
	}
	*r.in += bytes
	r.bytes += bytes
	return nil
}

// Keep assigns the room to a model that replaces the model of old, which may be nil. If that would
// exceed the bound, it returns an error and changes nothing.
func (r *Room) Keep(old *Room) error {
	if r == nil {
		return nil
	}
	m := r.of
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.kept + r.bytes
	if old != nil && old.in == &m.kept {
		total -= old.bytes
	}
	if err := m.fits(&m.kept, total, r.bytes); err != nil {
		return err
	}
	m.learning -= r.bytes
	m.kept += r.bytes
	r.in = &m.kept
	return nil
}

// Release empties the room. It may be called more than once.
func (r *Room) Release() {
	if r == nil {
		return
	}
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.in != nil {
		*r.in -= r.bytes
		r.in = nil
	}
}

// most returns the bound of the room's memory; 0 means none.
func (r *Room) most() int64 {
	if r == nil {
		return 0
	}
	return r.of.most
}

// fits returns an error if a total, &m.kept or &m.learning, may not become all, of which a room has
// own. The caller holds mu.
func (m *Memory) fits(total *int64, all, own int64) error {
	part := m.most / int64(max(m.shares, 1))
	if all <= m.most || own <= part {
		return nil
	}
	what := "the services that are being learned"
	if total == &m.kept {
		what = "the services that were learned"
	}
	return fmt.Errorf("%s take more than %d bytes of memory together, a quarter of server.memory, and this one more than its equal part, %d: "+
		"raise server.memory, or select fewer services with include", what, m.most, part)
}
