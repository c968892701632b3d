package mcp

import (
	"net/netip"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
)

// Incoming is one message, or batch, that a transport received.
type Incoming struct {
	// Body is the bytes as received, owned by the era until the exchange ends. The era may call DropBody when it
	// needs it no more.
	Body []byte
	// Header is the view of the HTTP headers; nil on stdio.
	Header Header
	// HTTP is the request, as Call.HTTP has it; its zero value: there is none.
	HTTP HTTP
	// Principal is the verified caller.
	Principal Principal
	// Token is what the caller is known by, where some backend wants another one for it; see Token.
	Token Token
	// Credentials tells when those of the request, in Header, cease to be good; nil: nobody does.
	Credentials Credentials
	// Address is the client's network address, without a port; invalid where there is none (stdio) or it is not
	// known. It tells anonymous callers apart where they share a bound, and authenticates nobody.
	Address netip.Addr
	// Memory is what the exchange holds of the process's memory: it is charged with the body, and released by the
	// transport when the exchange has ended. Who works on the message in the exchange's goroutine may charge more to
	// it. nil: nothing is counted.
	Memory *budget.Reservation
	// Session is the id of the session the message belongs to: the header's over Streamable HTTP,
	// what the transport remembers elsewhere. Empty: none.
	Session string
	// LastEventID is where a reader wants to resume; empty: not asked.
	LastEventID string
	// Conn is the connection, where one carries many exchanges at once; nil over HTTP.
	Conn *Conn
	// Early: the transport can tell a Response with a Challenge by its status only before Admit, so that whoever serves a
	// request resolves it first.
	Early bool
	// Next, if set, lets the transport serve the connection's next message, see Admit.
	Next func()
}

// Credentials finds out when credentials cease to be good before Principal.Until. Safe for concurrent use.
type Credentials interface {
	// Watch calls fn, at most once, when the credentials in a header are found not to be good any more, until stop is
	// called. fn must not block. A nil stop says that nothing is to be found out.
	Watch(h Header, fn func()) (stop func())
}

// DropBody lets go of the body, and of what Memory was charged with for it. Nobody else may use Memory meanwhile.
func (in *Incoming) DropBody() {
	in.Memory.Shrink(budget.Requests, int64(len(in.Body)))
	in.Body = nil
}

// Admit tells a transport that keeps messages in order that the next one may be served: this one is
// known by its id, so that it can be cancelled or answered. An exchange that is never admitted holds
// the next message back until it ends; what a message changes for those after it (a session, a log
// level) is done without. Session is called before, if at all. More calls than one do no harm.
func (in *Incoming) Admit() {
	if in.Next != nil {
		in.Next()
	}
}

// Outgoing is a transport's way back for one exchange. Exactly one of Respond, Accept and Open is
// called, once; nothing is on the wire before. Not safe for concurrent use.
type Outgoing interface {
	// Session names the session that this exchange created. Called before the others.
	Session(id string)
	// Respond ends the exchange with one JSON body.
	Respond(r Response)
	// Accept ends the exchange without a body: a notification or an answer was taken. Where that is told, it
	// has left, as far as the transport can see to it, when Accept returns.
	Accept()
	// Open commits to an event stream, which ends when the era returns. Its head may leave no earlier than
	// what is written first, so that something should be, at once.
	Open() (Stream, error)
}

// Response is the one JSON body of an exchange.
type Response struct {
	// Body is a JSON-RPC message or batch.
	Body []byte
	// Owned: nobody else has Body, so that a transport may Recycle it when it has been sent.
	Owned bool
	// Kind is KindNone for a result, else what went wrong: a transport with statuses chooses by it.
	Kind Kind
	// RetryAfter is how long an error says to wait before the request is sent again; 0: it does not say.
	RetryAfter time.Duration
	// Challenge says which credentials the request takes; nil: none are asked for. A transport with statuses tells it.
	Challenge *Challenge
	// Modern is true for an exchange of the stateless era.
	Modern bool
}

// Stream is an open event stream to a client. Writes happen in the caller's goroutine and return when
// the bytes left the process or the transport's write deadline passed, whatever comes first. Not safe
// for concurrent use.
type Stream interface {
	// Send writes one event. After an error the stream is dead.
	Send(ev StreamEvent) error
	// KeepAlive writes what keeps proxies from closing an idle stream.
	KeepAlive() error
}

// StreamEvent is one event of a stream.
type StreamEvent struct {
	// ID is the event id; empty: the event has none. Transports without ids ignore it.
	ID string
	// Data is one JSON-RPC message; empty with an ID: a priming event.
	Data []byte
	// Retry is how long a client should wait before it reconnects; 0: not said.
	Retry time.Duration
	// More: the next event is sent, or the stream ended, right after this event, which need not leave before.
	More bool
}
