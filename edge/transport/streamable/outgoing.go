package streamable

import (
	"net/http"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/frame"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// outgoing is the response side of one HTTP request.
type outgoing struct {
	w        http.ResponseWriter
	guard    *web.Guard
	path     string // of the request
	accepted int    // the status of Accept
	// accepts are the types that the client accepts. batch is whether it sent an array, and gets
	// one.
	accepts web.Accepted
	batch   bool
	// listener opens the stream of a GET, whose only response is a stream. It is nil for other
	// methods, and after the stream was opened.
	listener *web.Listener
	events   *web.Events
	unary    *unary // in place of events, for a client that only accepts JSON
	// memory is what the exchange holds.
	memory budget.Reservation
}

var _ mcp.Outgoing = (*outgoing)(nil)

// Session implements mcp.Outgoing.
func (x *outgoing) Session(id string) { x.w.Header().Set(headerSession, id) }

// Respond implements mcp.Outgoing.
func (x *outgoing) Respond(r mcp.Response) {
	status := Status(r.Modern, r.Kind)
	if denied := x.guard.Challenge(x.path, r.Challenge); denied != nil {
		status = denied.Status
		web.Challenge(x.w, denied.Challenges)
	}
	if !x.accepts.JSON && status == http.StatusOK {
		x.respondAsStream(r)
		return
	}
	h := x.w.Header()
	h["Content-Type"] = jsonHeader
	h["Content-Length"] = []string{strconv.Itoa(len(r.Body))}
	web.RetryAfter(x.w, status, r.RetryAfter)
	if status == http.StatusMethodNotAllowed {
		h.Set("Allow", allowedWithoutSession)
	}
	x.guard.Deadline(x.w)
	x.w.WriteHeader(status)
	if _, err := x.w.Write(r.Body); err == nil && r.Owned {
		mcp.Recycle(r.Body)
	}
}

// respondAsStream is Respond for a client that only accepts event streams.
func (x *outgoing) respondAsStream(r mcp.Response) {
	x.events = x.guard.Answering(x.w)
	if err := x.events.Hold(frame.Event{Name: messageEvent, Data: r.Body}); err == nil && r.Owned {
		mcp.Recycle(r.Body)
	}
}

// Accept implements mcp.Outgoing.
func (x *outgoing) Accept() {
	if x.accepted == http.StatusAccepted {
		x.w.Header()["Content-Length"] = zeroLength
	}
	x.guard.Deadline(x.w)
	x.w.WriteHeader(x.accepted)
	// Send it now: the effects of the message follow it.
	_ = http.NewResponseController(x.w).Flush()
}

// Open implements mcp.Outgoing. A requested stream begins with a comment: there may be nothing else
// to write for long, and proxies delay headers until bytes follow.
func (x *outgoing) Open() (_ mcp.Stream, err error) {
	if x.listener == nil && !x.accepts.Events {
		x.unary = &unary{x: x}
		return x.unary, nil
	}
	w, l := x.w, x.listener
	x.w, x.listener = nil, nil // an idle stream does not need them
	if l == nil {
		x.events = x.guard.Answering(w)
		return stream{x.events}, nil
	}
	if x.events, err = l.Events(); err == nil {
		err = x.events.Comment()
	}
	return stream{x.events}, err
}

// end is called when the era has finished the exchange.
func (x *outgoing) end() {
	if x.unary != nil {
		x.unary.end()
	}
	if x.events != nil {
		x.events.Close()
	}
}

var (
	jsonHeader = []string{web.TypeJSON}
	zeroLength = []string{"0"}
)

// stream is an open Server-Sent Events response.
type stream struct{ events *web.Events }

var _ mcp.Stream = stream{}

// Send implements mcp.Stream.
func (s stream) Send(ev mcp.StreamEvent) error {
	event := frame.Event{ID: ev.ID, Data: ev.Data, Retry: ev.Retry}
	if len(ev.Data) > 0 {
		event.Name = messageEvent
	}
	if ev.More {
		return s.events.Hold(event)
	}
	return s.events.Send(event)
}

// messageEvent is the name of events with messages. It is the default name of an event, but not for
// all clients.
const messageEvent = "message"

// KeepAlive implements mcp.Stream with a comment line.
func (s stream) KeepAlive() error { return s.events.Comment() }
