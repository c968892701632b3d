package backend

import (
	"context"
	"sync"
)

// group is the goroutines of one backend. They share a context, which ends with close.
type group struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

func (g *group) init() { g.ctx, g.cancel = context.WithCancel(context.Background()) }

// follow ends the group's context when ctx ends.
func (g *group) follow(ctx context.Context) {
	stop := context.AfterFunc(ctx, g.cancel)
	context.AfterFunc(g.ctx, func() { stop() })
}

// add counts one more piece of work, which must call done at its end. It returns false if the group
// is closed: the work must not begin.
func (g *group) add() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.wg.Add(1)
	return true
}

func (g *group) done() { g.wg.Done() }

// run starts a goroutine. It returns false if the group is closed.
func (g *group) run(fn func(ctx context.Context)) bool {
	if !g.add() {
		return false
	}
	go func() {
		defer g.done()
		fn(g.ctx)
	}()
	return true
}

// wait closes the group and returns when its goroutines have ended.
func (g *group) wait() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.wg.Wait()
}
