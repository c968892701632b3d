package mcp

import (
	"context"
	"sync"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Conn is a connection that carries concurrent exchanges, like stdio. Without a session, only the
// Conn relates a request to the notification that cancels it. A transport makes one per connection;
// the stateless era registers requests in flight in it. The zero value is ready to use. A nil Conn
// is for transports whose exchanges are independent: nothing is registered, and nothing can be
// cancelled by id. It is safe for concurrent use.
type Conn struct {
	mu       sync.Mutex
	inFlight map[jsonrpc.ID]*InFlight
}

// InFlight is one request in flight on a Conn; nil on a nil Conn. It is safe for concurrent use.
type InFlight struct {
	conn   *Conn
	id     jsonrpc.ID
	cancel context.CancelFunc
	ended  bool // guarded by conn.mu
}

// Begin registers a request. The context ends with Cancel or Release. Begin returns false, and
// registers nothing, if another request in flight has the id.
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

// Cancel cancels the request with the id, which must not write afterwards. It returns false if
// there is no such request.
func (c *Conn) Cancel(id jsonrpc.ID) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	f := c.inFlight[id]
	c.mu.Unlock()
	return f.end()
}

// Finish ends the request: its id may be reused from now on. It returns whether the last message of
// the request may be written: false if the request was cancelled or finished before. On nil it
// returns true, because only the exchange itself can be cancelled. The context from Begin lasts
// until Release.
func (f *InFlight) Finish() bool {
	return f == nil || f.forget()
}

// Release ends the request, if it is still in flight, and its context. Call it when the request is
// over.
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

// forget unregisters the request, once.
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
