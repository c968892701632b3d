package stdio

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/frame"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// lineBytes is charged for each message in addition to its size, for the goroutine and a small
// response.
const lineBytes = 16 << 10

// errEnded means that the connection has ended.
var errEnded = errors.New("stdio: the connection has ended")

// conn is one client. One goroutine reads the lines and owns all fields without another comment.
type conn struct {
	server Server
	opts   Options
	out    *frame.LineWriter
	link   mcp.Conn
	slots  chan struct{}
	// ctx is the context of the exchanges; kill cancels it.
	ctx  context.Context
	kill context.CancelFunc
	// running counts the exchanges, including streams and the session's own.
	running sync.WaitGroup

	// broken is closed by any writer when the client cannot be written to any more; why is set
	// before.
	broken chan struct{}
	breaks sync.Once
	why    error
	closed atomic.Bool

	// unread is closed when in has ended and the client reads no messages, so that the waiting
	// messages are never served; sent counts the messages that it took.
	unread chan struct{}
	sent   atomic.Int64

	// session is the newest session; empty before the handshake. unlisten ends its standalone
	// stream. It is nil until the message after the handshake, because nothing may be sent in
	// between.
	session  string
	unlisten context.CancelFunc
}

// write sends one message. Any goroutine may call it.
func (c *conn) write(msg []byte) error {
	if c.closed.Load() {
		return errEnded
	}
	err := c.out.WriteLine(msg)
	if errors.Is(err, frame.ErrRawNewline) {
		err = c.out.WriteLine(jsonrpc.Compact(make([]byte, 0, len(msg)), msg))
	}
	switch {
	case err == nil:
		c.sent.Add(1)
	case errors.Is(err, frame.ErrRawNewline), errors.Is(err, frame.ErrEmptyLine):
		c.opts.Logger.Error("a message that is not exactly one line was not sent", "error", err)
	default:
		c.breaks.Do(func() {
			c.why = fmt.Errorf("stdio: the client is gone: %w", err)
			close(c.broken)
		})
	}
	return err
}

// alive returns nil while the client can be written to.
func (c *conn) alive() error {
	select {
	case <-c.broken:
		return c.why
	default:
		return c.ctx.Err()
	}
}

// refuse answers a line that is too long to be parsed.
func (c *conn) refuse(err error) {
	_ = c.write(jsonrpc.AppendError(nil, jsonrpc.ID{}, jsonrpc.CodeInvalidRequest, err.Error(), nil))
}

// serve starts one line's exchange and returns when the next line may be served, or when serving
// ends.
func (c *conn) serve(stop <-chan struct{}, line []byte) {
	select {
	case c.slots <- struct{}{}:
	case <-c.broken:
		return
	case <-c.unread:
		return
	case <-stop:
		return
	}
	memory := c.opts.Holder.Begin()
	memory.Offer(budget.Requests, lineBytes+int64(len(line))) // It is in memory already.
	x := newOutgoing(c)
	in := &mcp.Incoming{Body: line, Set: c.opts.Set, Session: c.session, Conn: &c.link, Next: x.admit, Memory: &memory}
	c.running.Go(func() {
		defer memory.Release()
		defer x.release()
		defer x.admit()
		defer c.endPanicked(x, line)
		c.server.Post(c.ctx, in, x)
	})
	select {
	case <-x.admitted:
	case <-c.broken:
		return
	case <-c.unread:
		return
	case <-stop:
		return
	}
	switch {
	case x.session != "":
		c.adopt(x.session)
	case c.session != "" && c.unlisten == nil:
		c.listen()
	}
}

// endPanicked ends an exchange that panicked; the others continue.
func (c *conn) endPanicked(x *outgoing, line []byte) {
	p := recover()
	if p == nil {
		return
	}
	c.opts.Logger.Error("an exchange panicked", "panic", p, "stack", string(debug.Stack()))
	if x.ended {
		return
	}
	if msg, err := jsonrpc.Parse(line); err == nil && msg.Kind == jsonrpc.Request {
		_ = c.write(jsonrpc.AppendError(nil, msg.ID, jsonrpc.CodeInternalError, "internal error", nil))
	}
}
