package sse

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// outgoing is the response side of one POST: a status for it, and the connection's stream for the
// rest.
type outgoing struct {
	c *conn
	// settled is closed when the POST can be answered: with refusal, or else with 202.
	settled chan struct{}
	once    sync.Once
	refusal *mcp.Response
	// denied is the HTTP form of a refusal that asks for other credentials. nil uses the refusal's
	// kind.
	denied *web.Denial
	// accepted is true if Accept answers the POST with 202 and waits until that was sent.
	accepted bool
	// postDone is closed when the POST was answered.
	postDone chan struct{}
	// created is the session that the exchange created.
	created string
	stream  *stream
}

var _ mcp.Outgoing = (*outgoing)(nil)

func newOutgoing(c *conn) *outgoing {
	return &outgoing{c: c, settled: make(chan struct{}), postDone: make(chan struct{})}
}

func (x *outgoing) settle() { x.once.Do(func() { close(x.settled) }) }

// Session implements mcp.Outgoing.
func (x *outgoing) Session(id string) {
	x.created = id
	x.c.adopt(id)
}

// Respond implements mcp.Outgoing. The response to a request goes to the stream. An error that is
// not for a request refuses the POST, as does one that asks for other credentials, unless the POST
// was answered before.
func (x *outgoing) Respond(r mcp.Response) {
	_, answers := jsonrpc.Member(r.Body, "id")
	denied := x.c.h.guard.Challenge(MessagePath+x.c.at, r.Challenge)
	if r.Kind != mcp.KindNone && !answers || denied != nil {
		refused := false
		x.once.Do(func() {
			x.refusal, x.denied, refused = &r, denied, true
			close(x.settled)
		})
		if refused || !answers {
			return
		}
	}
	_ = x.c.writer.message(r.Body)
	if x.created != "" {
		x.c.listen(x.created)
	}
	x.settle()
}

// Accept implements mcp.Outgoing. It returns when the 202 was sent, or the connection ends, so that
// the effects of the message follow it. It does not wait if the message was admitted before.
func (x *outgoing) Accept() {
	x.once.Do(func() {
		x.accepted = true
		close(x.settled)
	})
	if !x.accepted {
		return
	}
	select {
	case <-x.postDone:
	case <-x.c.ctx.Done():
	}
}

// Open implements mcp.Outgoing.
func (x *outgoing) Open() (mcp.Stream, error) {
	x.settle()
	x.stream = &stream{w: &x.c.writer}
	return x.stream, x.c.writer.state()
}

// resume resumes a stream that the era closed early, as it does with streams that a client could
// resume. Here a client cannot, so the connection does.
func (x *outgoing) resume(in *mcp.Incoming) {
	for s := x.stream; s != nil && s.retry > 0 && sleep(x.c.ctx, s.retry); {
		again := &streamOnly{w: &x.c.writer}
		x.c.h.server.Listen(x.c.ctx, &mcp.Incoming{
			Set: x.c.set, Principal: in.Principal, Session: in.Session, LastEventID: s.last,
		}, again)
		switch {
		case again.stream != nil:
			if again.stream.last == "" {
				again.stream.last = s.last
			}
			s = again.stream
		case again.kind != mcp.KindStateUnavailable:
			return
		}
	}
}

// stream writes an era's events to the connection, without ids. It drops events that only have an
// id.
type stream struct {
	w *writer
	// last is the last event's id. retry is set if the last event was a request to reconnect.
	last  string
	retry time.Duration
}

var _ mcp.Stream = (*stream)(nil)

// Send implements mcp.Stream.
func (s *stream) Send(ev mcp.StreamEvent) error {
	if ev.ID != "" {
		s.last = ev.ID
	}
	s.retry = 0
	if len(ev.Data) > 0 {
		return s.w.message(ev.Data)
	}
	s.retry = ev.Retry
	return s.w.state()
}

// KeepAlive implements mcp.Stream: the connection sends its own keep-alives.
func (s *stream) KeepAlive() error { return s.w.state() }

// listen attaches the session's standalone stream while the session is the connection's. The caller
// is an exchange.
func (c *conn) listen(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.session != session {
		return
	}
	var ctx context.Context
	ctx, c.unlisten = context.WithCancel(c.ctx)
	c.work.Go(func() {
		defer c.recoverPanic()
		c.attach(ctx, session)
	})
}

// attach attaches the standalone stream again whenever it ends. If the session does not exist any
// more, it closes the connection.
func (c *conn) attach(ctx context.Context, session string) {
	for ctx.Err() == nil {
		out := &streamOnly{w: &c.writer}
		c.h.server.Listen(ctx, &mcp.Incoming{Set: c.set, Principal: c.principal, Token: c.bearer, Session: session}, out)
		if out.kind == mcp.KindSessionNotFound && ctx.Err() == nil {
			c.cancel()
			return
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// detached is the response side of an exchange without a waiting client.
type detached struct{ kind mcp.Kind }

var _ mcp.Outgoing = (*detached)(nil)

func (u *detached) Session(string)            {}
func (u *detached) Accept()                   {}
func (u *detached) Respond(r mcp.Response)    { u.kind = r.Kind }
func (u *detached) Open() (mcp.Stream, error) { return nil, errEnded }

// streamOnly is the response side of a stream without a waiting POST.
type streamOnly struct {
	detached
	w      *writer
	stream *stream // nil if refused
}

// Open implements mcp.Outgoing.
func (r *streamOnly) Open() (mcp.Stream, error) {
	r.stream = &stream{w: r.w}
	return r.stream, r.w.state()
}

// status returns the HTTP status of a POST that is refused as a whole.
func status(kind mcp.Kind) int {
	switch kind {
	case mcp.KindSessionNotFound:
		return http.StatusNotFound
	case mcp.KindForbidden:
		return http.StatusForbidden
	case mcp.KindTooLarge:
		return http.StatusRequestEntityTooLarge
	case mcp.KindLimit:
		return http.StatusTooManyRequests
	case mcp.KindStateUnavailable, mcp.KindOverloaded, mcp.KindUnavailable:
		return http.StatusServiceUnavailable
	case mcp.KindInternal:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}
