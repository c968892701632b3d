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
	// of is the call that it is about.
	of *request
	// at is the position of its id, if it has one.
	at       medium.Position
	numbered bool
	kind     state.EntryKind
	progress float64
	data     string
}

// conn is one connection of a client. The runtime answers it by its exported methods, in goroutines of the replica.
type conn struct {
	x      *exchange
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
	// heardOf: when it was read, the replica had heard that the store was away since it lost writes.
	heardOf bool
	// ids that were sent on it.
	ids []medium.Position
}

var errLeft = errors.New("the client has left")

// get has the client get something, in the order of sending.
func (k *conn) get(do func()) {
	k.sent++
	k.r.arrive(arrival{what: clientGets, name: k.x.id, n: k.number, m: k.sent, do: func() { k.r.soon(clientGets, do) }})
}

// Respond implements runtime.Outgoing.
func (k *conn) Respond(replies []*call.Reply) {
	bodies := make([][]byte, len(replies))
	for i, r := range replies {
		bodies[i] = r.Response
	}
	k.get(func() { k.respond(bodies) })
}

// Accept implements runtime.Outgoing.
func (k *conn) Accept() {}

// Open implements runtime.Outgoing.
func (k *conn) Open(ctx context.Context, stream string) {
	k.follow(ctx, runtime.Log{Stream: stream, Prime: k.x.primes, Opens: true})
}

func (k *conn) follow(ctx context.Context, l runtime.Log) {
	l.Session, l.Resumable = k.x.session, true
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
	x, w := k.x, k.x.w
	if x.conn != k {
		return
	}
	w.logf("%s is sent %q with the id %q", x.id, data, id)
	e := event{numbered: id != "", data: data}
	if e.numbered {
		stream, at, err := medium.ParseEventID(id)
		if err != nil {
			w.judge.fail("%s is sent the id %q: %v", x.id, id, err)
			return
		}
		e.at, x.stream, x.after, x.hasID = at, stream, at, true
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
	if e.of = w.subject(data); e.of == nil || e.of.x != x {
		w.judge.fail("%s is sent %q, which is of another exchange", x.id, data)
		return
	}
	w.judge.sent(k, &e)
	x.got = append(x.got, e)
	switch e.kind {
	case state.EntryResponse:
		e.of.take(data)
	case state.EntryRequest:
		e.of.answer(data)
	}
}

// respond ends an exchange with a body: the responses of its calls, nil for those without one.
func (k *conn) respond(bodies [][]byte) {
	x := k.x
	if x.conn != k {
		return
	}
	x.w.logf("%s is answered with %q", x.id, bodies)
	x.conn = nil
	k.left()
	if x.hasID {
		x.w.judge.fail("%s has a body though it had event ids", x.id)
	}
	for i, c := range x.calls {
		switch {
		case bodies[i] != nil:
			c.take(string(bodies[i]))
		case c.cancelled:
			c.responses++ // It needs none.
		default:
			x.w.judge.fail("%s has no response, and was not cancelled", c.id)
		}
	}
	x.done = true
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
	x := k.x
	k.left()
	if x.conn != k || x.w.over {
		return
	}
	x.conn = nil
	x.w.logf("%s loses its connection to r%d", x.id, k.r.id)
	if d := x.w.deletions[x.session]; !x.hasID || d != nil && d.done > 0 {
		x.done = true // The loss is the client's to retry, as a new request.
		return
	}
	x.comeBack()
}

// ended is for a stream that the edge ended.
func (k *conn) ended(unknown bool) {
	x := k.x
	if x.conn != k {
		return
	}
	switch {
	case x.answered(), x.deleted():
		x.done = true
	case unknown, x.w.lost(x.session): // It is told so when it comes back.
		x.unknown, x.heardOf, x.done = true, unknown && k.heardOf, true
	case k.r.closed, k.r.draining:
		k.broken()
		return
	case x.repeats():
		// A call that has lost nothing may have written, before others restored what they had, at places that the client knows for others.
		x.done = true
	default:
		x.w.judge.fail("the stream of %s ended without all responses: %v", x.id, x.answers())
	}
	x.conn = nil
}
