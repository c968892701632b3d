package sse

import (
	"context"
	"crypto/rand"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// conn is one open GET: the stream to a client, and the owner of its session.
type conn struct {
	h     *Handler
	token string
	// set is the set that the connection uses; empty means the root. at is the part of its path that
	// names the set.
	set, at   string
	principal mcp.Principal
	// bearer is the token of the GET, if tokens are kept.
	bearer mcp.Token
	writer writer
	// memory is what the connection holds while it is open.
	memory budget.Reservation
	// ctx ends with the GET, or with cancel.
	ctx    context.Context
	cancel context.CancelFunc
	// idle holds a token when the last exchange may have ended.
	idle chan struct{}
	// work counts exchanges and the standalone stream. They are added under mu, and never after
	// closed is set.
	work sync.WaitGroup

	mu sync.Mutex
	// until is when the newest credentials of the connection and its messages expire. Zero means
	// never.
	until     time.Time
	closed    bool
	exchanges int
	session   string
	unlisten  context.CancelFunc // ends the session's standalone stream
}

// newConn makes a connection without a context.
func newConn(h *Handler, p mcp.Principal) *conn {
	return &conn{h: h, token: h.tokenOf(rand.Text()), principal: p, until: p.Until, idle: make(chan struct{}, 1), unlisten: func() {}}
}

// serve runs the connection until the client leaves, the server shuts down, or its credentials have
// expired and nothing runs; then it ends its session.
func (c *conn) serve(events *web.Events, endpoint string) {
	c.writer.open(events)
	defer c.end()
	if c.writer.endpoint(endpoint) != nil {
		return
	}
	silence := c.h.o.KeepAlive
	t := time.NewTimer(silence)
	defer t.Stop()
	expiry := time.NewTimer(silence)
	defer expiry.Stop()
	draining, leaving := c.h.draining, false
	for !leaving || c.busy() {
		if expired(expiry, c.expires()) && !c.busy() {
			c.h.expired.Add(1)
			return
		}
		select {
		case <-expiry.C:
		case <-t.C:
			next, err := c.writer.keepAlive(silence)
			if err != nil {
				return
			}
			t.Reset(next)
		case <-draining:
			draining, leaving = nil, true
		case <-c.idle:
		case <-c.ctx.Done():
			return
		}
	}
}

// expired reports whether the credentials have expired. Otherwise it sets the timer to their
// expiry.
func expired(t *time.Timer, until time.Time) bool {
	if until.IsZero() {
		t.Stop()
		return false
	}
	left := time.Until(until)
	if left <= 0 {
		t.Stop()
		return true
	}
	t.Reset(left)
	return false
}

// revoke expires the connection's credentials. A later message with valid ones renews them.
func (c *conn) revoke() {
	c.mu.Lock()
	c.until = time.Now()
	c.mu.Unlock()
	select {
	case c.idle <- struct{}{}:
	default:
	}
}

// expires returns when the credentials expire. Zero means never.
func (c *conn) expires() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.until
}

func (c *conn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exchanges > 0
}

// end closes the connection: POSTs do not find it any more, nothing more is written, the end of the
// session cancels its calls, and no goroutine is left. It also ends a session that was being
// created.
func (c *conn) end() {
	c.h.open.hide(c)
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.writer.close()
	c.endSession(c.take())
	c.work.Wait()
	c.endSession(c.take())
}

// take returns the session and clears it.
func (c *conn) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.session
	c.session = ""
	return id
}

// begin serves a message in its own goroutine, in the current session. What the message holds is
// released when that has ended, or by the caller if the message was not taken.
func (c *conn) begin(in *mcp.Incoming, x *outgoing) verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return shut
	case c.exchanges >= c.h.o.MaxExchanges:
		return full
	}
	c.exchanges++
	if mcp.Outlasts(in.Principal.Until, c.until) {
		c.until = in.Principal.Until
	}
	in.Session, in.Next, in.ResolveBeforeAdmit = c.session, x.settle, true
	c.work.Go(func() {
		defer c.done()
		defer in.Memory.Release()
		defer c.recoverPanic()
		defer x.settle()
		c.h.server.Post(c.ctx, in, x)
		x.resume(in)
	})
	return taken
}

func (c *conn) done() {
	c.mu.Lock()
	c.exchanges--
	c.mu.Unlock()
	select {
	case c.idle <- struct{}{}:
	default:
	}
}

// recoverPanic limits a panic to this connection.
func (c *conn) recoverPanic() {
	if p := recover(); p != nil {
		c.h.o.Logger.Error("an exchange over HTTP+SSE panicked", "panic", p, "stack", string(debug.Stack()))
		c.cancel()
	}
}

// adopt sets the connection's session. It ends the previous one: a client that sends initialize
// again starts anew. The caller is an exchange.
func (c *conn) adopt(id string) {
	c.mu.Lock()
	old := c.session
	c.session = id
	c.unlisten()
	c.mu.Unlock()
	if old != "" {
		c.work.Go(func() { c.endSession(old) })
	}
}

// endSession ends a session, even if the client has left. A session that cannot be ended expires.
func (c *conn) endSession(id string) {
	if id == "" {
		return
	}
	in := &mcp.Incoming{Set: c.set, Principal: c.principal, Session: id}
	for attempt := range endAttempts {
		if attempt > 0 {
			time.Sleep(pause)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), endTimeout)
		verdict := &detached{}
		c.h.server.End(ctx, in, verdict)
		cancel()
		if verdict.kind != mcp.KindStateUnavailable {
			return
		}
	}
	c.h.o.Logger.Warn("the session of a closed HTTP+SSE connection could not be ended; it expires")
}

// sleep waits for d. It returns false if ctx is done first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
