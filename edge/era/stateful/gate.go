package stateful

import (
	"context"
	"sync"
	"sync/atomic"
)

// gate counts what is going on. Unlike a sync.WaitGroup it may be entered while somebody waits.
type gate struct {
	// n counts those inside in its lower half, and those of them that rest in its upper one.
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

func (g *gate) leave() { g.changed(g.n.Add(-1)) }

// one of those that rest.
const resting = 1 << 32

// rest says that one who is inside is not waited for by waitBusy, until unrest.
func (g *gate) rest()   { g.changed(g.n.Add(resting)) }
func (g *gate) unrest() { g.n.Add(-resting) }

// busy says whether somebody is inside who does not rest.
func busy(n int64) bool { return n&(resting-1) != n/resting }

func inside(n int64) bool { return n != 0 }

// changed wakes those who wait, if they may have waited for this.
func (g *gate) changed(n int64) {
	if busy(n) || !g.waited.Load() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// wait returns when nobody is inside or ctx has ended; waitBusy when nobody is who does not rest.
func (g *gate) wait(ctx context.Context) error     { return g.waitWhile(ctx, inside) }
func (g *gate) waitBusy(ctx context.Context) error { return g.waitWhile(ctx, busy) }

func (g *gate) waitWhile(ctx context.Context, goesOn func(int64) bool) error {
	g.waited.Store(true)
	for {
		g.mu.Lock()
		if g.idle == nil {
			g.idle = make(chan struct{})
		}
		idle := g.idle
		g.mu.Unlock()
		if !goesOn(g.n.Load()) {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
