package stdio

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Bounds of the pause before a standalone stream that ended is attached again.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 30 * time.Second
)

// adopt sets the connection's session, and ends the previous one, if any.
func (c *conn) adopt(session string) {
	old := c.session
	c.stopListening()
	c.session = session
	if old != "" {
		c.running.Go(func() { c.end(c.ctx, old) })
	}
}

// listen attaches the session's standalone stream, and again when it ends before the session does.
func (c *conn) listen() {
	ctx, stop := context.WithCancel(c.ctx)
	c.unlisten = stop
	session := c.session
	c.running.Go(func() {
		for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
			w := &background{conn: c}
			began := time.Now()
			c.server.Listen(ctx, &mcp.Incoming{Set: c.opts.Set, Session: session, Conn: &c.link}, w)
			if w.kind == mcp.KindSessionNotFound {
				return
			}
			if time.Since(began) > lastPause {
				pause = firstPause
			}
			select {
			case <-ctx.Done():
			case <-c.broken:
				return
			case <-time.After(pause):
			}
		}
	})
}

// stopListening ends the standalone stream without waiting for its end.
func (c *conn) stopListening() {
	if c.unlisten != nil {
		c.unlisten()
		c.unlisten = nil
	}
}

// end ends a session.
func (c *conn) end(ctx context.Context, session string) {
	w := &background{conn: c}
	c.server.End(ctx, &mcp.Incoming{Set: c.opts.Set, Session: session, Conn: &c.link}, w)
	if w.kind != mcp.KindNone && w.kind != mcp.KindSessionNotFound {
		c.opts.Logger.Warn("the session could not be ended; it expires")
	}
}

// background is the response side of an exchange that the client did not begin: a refusal is
// logged, not sent.
type background struct {
	conn *conn
	kind mcp.Kind
}

var _ mcp.Outgoing = (*background)(nil)

// Session implements mcp.Outgoing.
func (b *background) Session(string) {}

// Respond implements mcp.Outgoing.
func (b *background) Respond(r mcp.Response) {
	b.kind = r.Kind
	b.conn.opts.Logger.Debug("a session's own exchange was refused", "response", string(r.Body))
}

// Accept implements mcp.Outgoing.
func (b *background) Accept() {}

// Open implements mcp.Outgoing.
func (b *background) Open() (mcp.Stream, error) { return stream{b.conn}, nil }
