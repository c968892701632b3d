package reflect

import (
	"fmt"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// swap replaces the model. If m does not fit in memory, swap returns an error, releases m's room
// and keeps the previous model.
func (a *Adapter) swap(m *model) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.model
	var held *limit.Room
	if old != nil && a.users[old] <= 1 { // the one user is load
		held = old.room
	}
	if err := m.room.Keep(held); err != nil {
		m.room.Release()
		return fmt.Errorf("the service cannot be learned: %w", err)
	}
	a.model = m
	close(a.changed)
	a.changed = make(chan struct{})
	return nil
}

// use returns the current model for a call. The caller must call done at the end of the call.
func (a *Adapter) use() (m *model, done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m = a.model
	if m == nil {
		return nil, func() {}
	}
	a.users[m]++
	return m, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.users[m]--; a.users[m] > 0 {
			return
		}
		delete(a.users, m)
		if m != a.model {
			m.room.Release()
		}
	}
}

// current returns the current model, and a channel that closes when it is replaced.
func (a *Adapter) current() (*model, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.model, a.changed
}
