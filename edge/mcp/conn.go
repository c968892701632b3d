package mcp

import (
	"context"
	"sync"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Conn is a connection that carries many exchanges at once, as stdio does: the one tie between a
// request and the notification that cancels it, where no session is. A transport makes one per
// connection; the stateless era notes in it what is in flight. The zero value is ready to use. A nil
// Conn is a transport whose exchanges stand alone: nothing is noted, nothing can be cancelled by id.
// Safe for concurrent use.
type Conn struct {
	mu       sync.Mutex
	inFlight map[jsonrpc.ID]*InFlight
}

// InFlight is one request that is in flight on a Conn; nil on a nil Conn. Safe for concurrent use.
type InFlight struct {
	conn   *Conn
	id     jsonrpc.ID
	cancel context.CancelFunc
	ended  bool // guarded by conn.mu
}

// Begin notes a request. The context ends with Cancel or Release. It returns false,
// and notes nothing, when the id is in use by a request that is still in flight.
func (c *Conn) Begin(ctx context.Context, id jsonrpc.ID) (context.Context, *InFlight, bool) {
	if c == nil {
		return ctx, nil, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, dup := c.inFlight[id]; dup {
		return ctx, nil, false
	}
	if c.inFlight == nil {
		c.inFlight = map[jsonrpc.ID]*InFlight{}
	}
	f := &InFlight{conn: c, id: id}
	ctx, f.cancel = context.WithCancel(ctx)
	c.inFlight[id] = f
	return ctx, f, true
}

// Has reports whether a request with the id is in flight.
func (c *Conn) Has(id jsonrpc.ID) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inFlight[id] != nil
}

// Cancel ends the request with the id, which must not write anything any more; false when there is none.
func (c *Conn) Cancel(id jsonrpc.ID) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	f := c.inFlight[id]
	c.mu.Unlock()
	return f.end()
}

// Finish ends the request: its id is free for the next one from here on. It returns whether the last
// message of the request may be written: false when it was cancelled, or finished before. True on nil,
// where only the exchange itself can be cancelled. The context that Begin gave lives on until Release.
func (f *InFlight) Finish() bool {
	return f == nil || f.forget()
}

// Release ends the request, if nothing did before, and its context. Call it when the request is over.
func (f *InFlight) Release() {
	if f != nil {
		f.forget()
		f.cancel()
	}
}

func (f *InFlight) end() bool {
	if f == nil || !f.forget() {
		return false
	}
	f.cancel()
	return true
}

// forget takes the request out of the connection, once.
func (f *InFlight) forget() bool {
	f.conn.mu.Lock()
	defer f.conn.mu.Unlock()
	if f.ended {
		return false
	}
	f.ended = true
	delete(f.conn.inFlight, f.id)
	return true
}
