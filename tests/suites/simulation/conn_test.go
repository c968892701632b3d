package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// event is an event as a client sees it.
type event struct {
	// at is the position of its id, if it has one.
	at       medium.Position
	numbered bool
	kind     state.EntryKind
	progress float64
	data     string
}

// conn is one connection of a client. The runtime answers it by its exported methods, in goroutines of the replica.
type conn struct {
	c      *request
	r      *replica
	number uint64
	leave  context.CancelFunc
	// gone: the client gets nothing any more.
	gone atomic.Bool
	// reads: it has only a stream, and no exchange.
	reads bool
	// sent counts what was sent; unknown: the stream did not exist when it was read last. Both belong to the goroutine that serves it.
	sent    uint64
	unknown bool
	// ids that were sent on it.
	ids []medium.Position
}

var errLeft = errors.New("the client has left")

// get has the client get something, in the order of sending.
func (k *conn) get(do func()) {
	k.sent++
	k.r.arrive(arrival{what: clientGets, name: k.c.id, n: k.number, m: k.sent, do: func() { k.r.soon(clientGets, do) }})
}

// Respond implements runtime.Outgoing.
func (k *conn) Respond(replies []*call.Reply) {
	body := replies[0].Response
	k.get(func() { k.respond(body) })
}

// Accept implements runtime.Outgoing.
func (k *conn) Accept() {}

// Open implements runtime.Outgoing.
func (k *conn) Open(ctx context.Context, stream string) {
	k.follow(ctx, runtime.Log{Stream: stream, Prime: k.c.primes, Opens: true})
}

func (k *conn) follow(ctx context.Context, l runtime.Log) {
	l.Session, l.Resumable = k.c.session, true
	l.Read = func(ctx context.Context, after medium.Position) (medium.Page, func(), error) {
		page, err := k.r.wire.read(ctx, k, l.Stream, after)
		k.unknown = errors.Is(err, state.ErrNotFound)
		return page, func() {}, err
	}
	k.r.runtime.Follow(ctx, k, l)
}

// KeepAlive implements mcp.Stream.
func (k *conn) KeepAlive() error { return nil }

// Send implements mcp.Stream.
func (k *conn) Send(e mcp.StreamEvent) error {
	if k.gone.Load() {
		return errLeft
	}
	id, data := e.ID, string(e.Data)
	k.get(func() { k.event(id, data) })
	return nil
}

// event is for an event that the client gets.
func (k *conn) event(id, data string) {
	c, w := k.c, k.c.w
	if c.conn != k {
		return
	}
	w.logf("%s is sent %q with the id %q", c.id, data, id)
	e := event{numbered: id != "", data: data}
	if e.numbered {
		stream, at, err := medium.ParseEventID(id)
		if err != nil {
			w.judge.fail("%s is sent the id %q: %v", c.id, id, err)
			return
		}
		e.at, c.stream, c.after, c.hasID = at, stream, at, true
		w.mix(uint64(at.Epoch) ^ at.Seq)
	}
	if data == "" {
		return
	}
	switch _, err := fmt.Sscanf(data, "progress %v of", &e.progress); {
	case err == nil:
		e.kind = state.EntryProgress
	case strings.HasPrefix(data, "result"), strings.HasPrefix(data, "failure"):
		e.kind = state.EntryResponse
	default:
		e.kind = state.EntryRequest
	}
	w.judge.sent(k, &e)
	c.got = append(c.got, e)
	switch e.kind {
	case state.EntryResponse:
		c.take(data)
	case state.EntryRequest:
		c.answer(data)
	}
}

// respond ends an exchange with a body.
func (k *conn) respond(body []byte) {
	c := k.c
	if c.conn != k {
		return
	}
	c.w.logf("%s is answered with %q", c.id, body)
	c.conn = nil
	k.left()
	if c.hasID {
		c.w.judge.fail("%s has a body though it had event ids", c.id)
	}
	if body == nil && !c.cancelled {
		c.w.judge.fail("%s has no response, and was not cancelled", c.id)
	}
	c.take(string(body))
	c.done = true
}

// left ends the connection.
func (k *conn) left() {
	k.gone.Store(true)
	if k.leave != nil {
		k.leave()
	}
}

// broken is for a connection that ends before its stream.
func (k *conn) broken() {
	c := k.c
	k.left()
	if c.conn != k || c.w.over {
		return
	}
	c.conn = nil
	c.w.logf("%s loses its connection to r%d", c.id, k.r.id)
	if d := c.w.deletions[c.session]; !c.hasID || d != nil && d.done > 0 {
		c.done = true // The loss is the client's to retry, as a new request.
		return
	}
	c.comeBack()
}

// ended is for a stream that the edge ended.
func (k *conn) ended(unknown bool) {
	c := k.c
	if c.conn != k {
		return
	}
	switch {
	case c.responses > 0, c.cancelled, c.deleted():
		c.done = true
	case unknown, c.w.lost(c.session): // It is told so when it comes back.
		c.unknown, c.unknownAt, c.done = true, c.w.now, true
	case k.r.closed:
		k.broken()
		return
	default:
		c.w.judge.fail("the stream of %s ended without a response", c.id)
	}
	c.conn = nil
}
