package stateful

import (
	"context"
	"sync"
	"sync/atomic"
)

// gate counts what is going on. Unlike a sync.WaitGroup it may be entered while somebody waits.
type gate struct {
	n      atomic.Int64
	closed atomic.Bool
	waited atomic.Bool
	mu     sync.Mutex
	idle   chan struct{}
}

// enter counts one more, unless the gate is closed.
func (g *gate) enter() bool {
	g.n.Add(1)
	if g.closed.Load() {
		g.leave()
		return false
	}
	return true
}

// add counts one more; for those who are inside already.
func (g *gate) add() { g.n.Add(1) }

func (g *gate) leave() {
	if g.n.Add(-1) == 0 && g.waited.Load() {
		g.mu.Lock()
		if g.idle != nil {
			close(g.idle)
			g.idle = nil
		}
		g.mu.Unlock()
	}
}

// wait returns when nobody is inside or ctx has ended.
func (g *gate) wait(ctx context.Context) error {
	g.waited.Store(true)
	for {
		g.mu.Lock()
		if g.idle == nil {
			g.idle = make(chan struct{})
		}
		idle := g.idle
		g.mu.Unlock()
		if g.n.Load() == 0 {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
