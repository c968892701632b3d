package runtime

import (
	"context"
	"sync"
	"sync/atomic"
)

// InFlight counts running work. Unlike a sync.WaitGroup it may be entered while a goroutine waits.
// The zero InFlight is open. It is safe for concurrent use.
type InFlight struct {
	// n counts all work in its lower half, and idle work in its upper half.
	n      atomic.Int64
	closed atomic.Bool
	waited atomic.Bool
	mu     sync.Mutex
	idle   chan struct{}
}

// Enter adds one. It returns false if g is closed.
func (g *InFlight) Enter() bool {
	g.n.Add(1)
	if g.closed.Load() {
		g.Leave()
		return false
	}
	return true
}

// Close makes later calls of Enter fail.
func (g *InFlight) Close() { g.closed.Store(true) }

// Spawn runs fn in a goroutine that counts as work. The caller has entered.
func (g *InFlight) Spawn(fn func()) {
	g.n.Add(1)
	go func() {
		defer g.Leave()
		fn()
	}()
}

// Leave subtracts one.
func (g *InFlight) Leave() { g.changed(g.n.Add(-1)) }

// idleUnit is one idle work in n.
const idleUnit = 1 << 32

// Idle excludes work that has entered from WaitBusy until Active is called.
func (g *InFlight) Idle() { g.changed(g.n.Add(idleUnit)) }

// Active undoes Idle. The work may have left before.
func (g *InFlight) Active() { g.changed(g.n.Add(-idleUnit)) }

// busy reports whether there is work that is not idle.
func busy(n int64) bool { return n&(idleUnit-1) != n/idleUnit }

func anyWork(n int64) bool { return n != 0 }

// changed wakes waiters if n may satisfy their condition.
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

// Wait returns nil when all work has left, or the error of ctx.
func (g *InFlight) Wait(ctx context.Context) error { return g.waitWhile(ctx, anyWork) }

// WaitBusy returns nil when all work that is not idle has left, or the error of ctx.
func (g *InFlight) WaitBusy(ctx context.Context) error { return g.waitWhile(ctx, busy) }

func (g *InFlight) waitWhile(ctx context.Context, holds func(int64) bool) error {
	g.waited.Store(true)
	for {
		g.mu.Lock()
		if g.idle == nil {
			g.idle = make(chan struct{})
		}
		idle := g.idle
		g.mu.Unlock()
		if !holds(g.n.Load()) {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
