package run

import (
	"context"
	"sync"
	"sync/atomic"
)

// InFlight counts what goes on. Unlike a sync.WaitGroup it may be entered while somebody waits. The zero InFlight is open. Safe for
// concurrent use.
type InFlight struct {
	// n counts those inside in its lower half, and those of them that rest in its upper one.
	n      atomic.Int64
	closed atomic.Bool
	waited atomic.Bool
	mu     sync.Mutex
	idle   chan struct{}
}

// Enter counts one more, unless it is closed: then it is false.
func (g *InFlight) Enter() bool {
	g.n.Add(1)
	if g.closed.Load() {
		g.Leave()
		return false
	}
	return true
}

// Close lets nobody in any more.
func (g *InFlight) Close() { g.closed.Store(true) }

// Spawn runs fn in a goroutine, which counts. The caller is inside.
func (g *InFlight) Spawn(fn func()) {
	g.n.Add(1)
	go func() {
		defer g.Leave()
		fn()
	}()
}

// Leave counts one less.
func (g *InFlight) Leave() { g.changed(g.n.Add(-1)) }

// one of those that rest.
const resting = 1 << 32

// Rest says that one who is inside is not waited for by WaitBusy, until Unrest.
func (g *InFlight) Rest() { g.changed(g.n.Add(resting)) }

// Unrest ends that. Whoever it is may have left before.
func (g *InFlight) Unrest() { g.changed(g.n.Add(-resting)) }

// busy says whether somebody is inside who does not rest.
func busy(n int64) bool { return n&(resting-1) != n/resting }

func inside(n int64) bool { return n != 0 }

// changed wakes those who wait, if they may have waited for this.
func (g *InFlight) changed(n int64) {
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

// Wait returns when nobody is inside, or with the error of ctx.
func (g *InFlight) Wait(ctx context.Context) error { return g.waitWhile(ctx, inside) }

// WaitBusy returns when nobody is inside who does not rest, or with the error of ctx.
func (g *InFlight) WaitBusy(ctx context.Context) error { return g.waitWhile(ctx, busy) }

func (g *InFlight) waitWhile(ctx context.Context, goesOn func(int64) bool) error {
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
