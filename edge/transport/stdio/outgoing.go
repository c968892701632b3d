package stdio

import (
	"sync"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// outgoing is the response side of one line.
type outgoing struct {
	conn *conn
	// admitted is closed when the next line may be served.
	admitted chan struct{}
	admit    func()
	// release frees the exchange's slot among those in flight; later calls do nothing.
	release func()
	// session is the session that the exchange created; it is read after admitted is closed.
	session string
	// ended is whether the exchange was answered, accepted or became a stream.
	ended bool
}

var _ mcp.Outgoing = (*outgoing)(nil)

func newOutgoing(c *conn) *outgoing {
	x := &outgoing{conn: c, admitted: make(chan struct{})}
	x.admit = sync.OnceFunc(func() { close(x.admitted) })
	x.release = sync.OnceFunc(func() { <-c.slots })
	return x
}

// Session implements mcp.Outgoing.
func (x *outgoing) Session(id string) { x.session = id }

// Respond implements mcp.Outgoing.
func (x *outgoing) Respond(r mcp.Response) {
	x.ended = true
	_ = x.conn.write(r.Body)
}

// Accept implements mcp.Outgoing. It writes nothing.
func (x *outgoing) Accept() { x.ended = true }

// Open implements mcp.Outgoing. A stream takes no slot among those in flight.
func (x *outgoing) Open() (mcp.Stream, error) {
	x.ended = true
	x.release()
	return stream{x.conn}, nil
}

// stream writes an exchange's events to the connection, which all exchanges share: there are no
// ids, no priming event and no keep-alive. A client that does not read blocks the writers.
type stream struct{ conn *conn }

var _ mcp.Stream = stream{}

// Send implements mcp.Stream.
func (s stream) Send(ev mcp.StreamEvent) error {
	if len(ev.Data) == 0 {
		return s.conn.alive()
	}
	return s.conn.write(ev.Data)
}

// KeepAlive implements mcp.Stream. It writes nothing.
func (s stream) KeepAlive() error { return s.conn.alive() }
