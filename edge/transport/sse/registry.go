package sse

import (
	"context"
	"sync"
)

// verdict says whether something may begin.
type verdict uint8

const (
	taken verdict = iota
	// full: a bound was reached.
	full
	// shut: nothing more may begin.
	shut
)

// registry has the open connections of this process. The zero value is ready to use. It is safe for
// concurrent use.
type registry struct {
	byToken sync.Map // token to *conn

	mu     sync.Mutex
	counts map[string]int // of open connections by principal
	total  int
	closed bool
	idle   chan struct{} // closed when none is left after closed
}

// find returns an open connection, or nil.
func (g *registry) find(token string) *conn {
	if len(token) > maxToken {
		return nil
	}
	c, _ := g.byToken.Load(token)
	found, _ := c.(*conn)
	return found
}

func (g *registry) add(c *conn, limit int) verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := c.principal.Key()
	switch {
	case g.closed:
		return shut
	case g.counts[key] >= limit:
		return full
	}
	if g.counts == nil {
		g.counts = map[string]int{}
	}
	g.counts[key]++
	g.total++
	g.byToken.Store(c.token, c)
	return taken
}

// remove removes a connection that has ended. hide has removed it for POSTs before.
func (g *registry) remove(c *conn) {
	g.hide(c)
	g.mu.Lock()
	defer g.mu.Unlock()
	key := c.principal.Key()
	if g.counts[key]--; g.counts[key] == 0 {
		delete(g.counts, key)
	}
	if g.total--; g.total == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// hide makes POSTs not find a connection any more.
func (g *registry) hide(c *conn) { g.byToken.Delete(c.token) }

// shut refuses new connections.
func (g *registry) shut() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
}

// endAll ends every connection.
func (g *registry) endAll() {
	g.byToken.Range(func(_, c any) bool {
		c.(*conn).cancel()
		return true
	})
}

// wait returns when no connection is left. Call it after shut.
func (g *registry) wait(ctx context.Context) error {
	g.mu.Lock()
	if g.total == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
