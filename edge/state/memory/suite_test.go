package memory_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/memory"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
)

// suiteMedium is a medium whose clock stands until it is put on.
type suiteMedium struct {
	m     *memory.Medium
	ahead *atomic.Int64
}

func (u suiteMedium) Store(_ *testing.T, id string, h medium.Hooks) medium.Store {
	return u.m.Store(id, h)
}

func (u suiteMedium) Advance(_ *testing.T, d time.Duration) { u.ahead.Add(int64(d)) }

func (u suiteMedium) Snapshot(_ *testing.T, session string) func() { return u.m.Snapshot(session) }

func TestSuite(t *testing.T) {
	statetest.Run(t, func(t *testing.T, l state.Limits) statetest.Medium {
		start, ahead := time.Now(), new(atomic.Int64)
		m := memory.New(l, memory.WithClock(func() time.Time {
			return start.Add(time.Duration(ahead.Load()))
		}))
		t.Cleanup(m.Close)
		return suiteMedium{m, ahead}
	})
}

func TestAgreesWithTheModel(t *testing.T) {
	m := memory.New(statetest.Patient)
	t.Cleanup(m.Close)
	var stores [3]medium.Store
	for i := range stores {
		stores[i] = m.Store("r", medium.Hooks{})
	}
	statetest.Drawn(t, stores, m.Snapshot)
}
