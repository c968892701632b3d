package mcp

import (
	"net/netip"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Incoming is one message, or batch, that a transport received.
type Incoming struct {
	// Body is the bytes as received. The era owns it until the exchange ends, and may call DropBody
	// before.
	Body []byte
	// Outline is room for the outline of Body, if that is one message.
	Outline jsonrpc.Outline
	// Header has the HTTP headers. It is nil on stdio.
	Header Header
	// HTTP is the request, as in Call.HTTP. The zero value means none.
	HTTP HTTP
	// Principal is the verified caller.
	Principal Principal
	// Set is the name of the set that the endpoint serves, which the principal may use. Empty means the
	// root.
	Set string
	// Token identifies the caller, if a backend needs another token for it; see Token.
	Token Token
	// Credentials watches the validity of the request's credentials, which are in Header. nil
	// watches nothing.
	Credentials Credentials
	// Address is the client's network address, without a port. It is invalid if there is none
	// (stdio) or it is unknown. It distinguishes anonymous callers for bounds, and authenticates
	// nothing.
	Address netip.Addr
	// Memory is the exchange's reservation in the process's memory: the transport charges it for
	// the body, and releases it when the exchange has ended. Code in the exchange's goroutine may
	// charge more to it. nil counts nothing.
	Memory *budget.Reservation
	// Session is the id of the message's session: from the header over Streamable HTTP, otherwise
	// as the transport remembers it. Empty means none.
	Session string
	// LastEventID is the event to resume after. Empty means none.
	LastEventID string
	// Conn is the connection, if it carries concurrent exchanges; nil over HTTP.
	Conn *Conn
	// PerRequest means that each message is a separate request that names its session, as over
	// Streamable HTTP. Other transports remember the session.
	PerRequest bool
	// ResolveBeforeAdmit means that the transport can only set the status of a Response with a
	// Challenge before Admit. The era must then resolve a request before it admits it.
	ResolveBeforeAdmit bool
	// Next lets the transport serve the connection's next message; see Admit. It may be nil.
	Next func()
}

// Credentials detects credentials that become invalid before Principal.Until, or give other rights.
// It is safe for concurrent use.
type Credentials interface {
	// Watch calls fn, at most once, when the credentials in a header become invalid, or give other
	// rights than those of p, the principal that they were accepted for, until stop is called. fn must
	// not block. A nil stop means that these credentials cannot be watched.
	Watch(h Header, p Principal, fn func()) (stop func())
}

// DropBody frees the body and its charge to Memory. Memory must not be used concurrently.
func (in *Incoming) DropBody() {
	in.Memory.Shrink(budget.Requests, int64(len(in.Body)))
	in.Body = nil
}

// Admit lets a transport that keeps messages in order serve the next one: this message is
// registered by its id, and can be cancelled or answered. An exchange that is never admitted delays
// the next message until it ends. Complete changes that affect later messages (a session, a log
// level) before Admit, and call Session before Admit. Further calls have no effect.
func (in *Incoming) Admit() {
	if in.Next != nil {
		in.Next()
	}
}

// Outgoing is the response side of one exchange. Call exactly one of Respond, Accept and Open,
// once; nothing is on the wire before. It is not safe for concurrent use.
type Outgoing interface {
	// Session sets the session that this exchange created. Call it before the others.
	Session(id string)
	// Respond ends the exchange with one JSON body.
	Respond(r Response)
	// Accept ends the exchange without a body: a notification or an answer was taken. If the
	// transport acknowledges that, the acknowledgement has been sent, as far as the transport can
	// ensure it, when Accept returns.
	Accept()
	// Open commits to an event stream, which ends when the era returns. Its head may be sent with
	// the first event, so write one at once.
	Open() (Stream, error)
}

// Response is the one JSON body of an exchange.
type Response struct {
	// Body is a JSON-RPC message or batch.
	Body []byte
	// Owned means that Body is not shared, so that the transport may Recycle it after sending it.
	Owned bool
	// Kind is KindNone for a result, else the kind of the error, by which a transport with statuses
	// chooses one.
	Kind Kind
	// RetryAfter is the delay before a retry, from an error. 0 omits it.
	RetryAfter time.Duration
	// Challenge describes the credentials that the request needs. A transport with status codes
	// sends it. nil sends none.
	Challenge *Challenge
	// Modern is true for an exchange of the stateless era.
	Modern bool
}

// Stream is an open event stream to a client. Writes run in the caller's goroutine and return when
// the bytes have left the process or the transport's write deadline has passed. It is not safe for
// concurrent use.
type Stream interface {
	// Send writes one event. After an error the stream is broken.
	Send(ev StreamEvent) error
	// KeepAlive writes a keep-alive, so that proxies do not close an idle stream.
	KeepAlive() error
}

// StreamEvent is one event of a stream.
type StreamEvent struct {
	// ID is the event id. Empty means none. Transports without ids ignore it.
	ID string
	// Data is one JSON-RPC message. Empty with an ID is a priming event.
	Data []byte
	// Retry is the delay before a client should reconnect. 0 omits it.
	Retry time.Duration
	// More means that the next event, or the end of the stream, follows at once, so that this event
	// may be buffered.
	More bool
}
