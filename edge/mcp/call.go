package mcp

import (
	"encoding/json"
	"net/netip"

	"github.com/mcpedge/mcpedge/edge/budget"
)

// Call is one round of a request on its way to dispatch, the same for both eras.
//
// Its raw members alias the request's body: whoever keeps a Call beyond the exchange must Clone it.
// A Call is not changed once it is handed to dispatch.
type Call struct {
	// ID is the contract's call_id: random, stable over rounds and re-runs.
	ID string
	// Attempt is 1, and one more each time that the round is run again after a replica was lost.
	Attempt int
	// Round is 1 for the first, one more for each set of answers.
	Round int
	// Begun: dispatch was given an earlier round or attempt of the call, or one of a backend that was busy, which has the
	// number of the round. Without sessions that is not known: false.
	Begun  bool
	Method Method
	Params Params
	// Envelope is the message that the result is meant for.
	Envelope Envelope
	// Header is the view of the HTTP headers to check against the body; nil: nothing to check.
	Header Header
	// HTTP is the request that the round came in, for who decides on it; its zero value: it came in none, or in one that is
	// not known any more, as that of a later round of a session.
	HTTP HTTP
	// Target is what the request names, for the round that it was resolved for; nil: the round resolves it itself.
	Target *Target
	// Principal is the verified caller.
	Principal Principal
	// From is the client's address; the zero Addr where there is none or, in a later round, it is not known. It
	// authenticates nobody.
	From netip.Addr
	// Client is what the client said of itself, effective for this call.
	Client Client
	// LogLevel is the least severity the client wants of this call.
	LogLevel LogLevel
	// Backend is the configured name of the backend that ran the rounds before: State and Responses are for it alone. Empty:
	// there were none.
	Backend string
	// Responses are the client's answers to the round before.
	Responses []InputResponse
	// State is the backend's own state from the round before, verbatim.
	State []byte
	// Task is the task that the call is, or may become; nil: it is a plain call.
	Task *CallTask
	// Memory is charged with what the call takes and with its result, from the goroutine that runs the round; its
	// owner releases it when the result is not needed any more. nil: nothing is counted.
	Memory *budget.Reservation
}

// Header is the part of http.Header that the stages behind a transport may see. Names are
// canonicalised by the implementation.
type Header interface {
	Get(name string) string
	Values(name string) []string
}

// HTTP is what of an HTTP request may be told to who decides on it. It does not keep the request alive. The zero value is of
// none.
type HTTP struct {
	// Host that the client asked for.
	Host string
	// Path without the query, which may have what admits to a connection; escaped.
	Path string
	// Header has the headers by their canonical names, credentials among them. Nobody changes it.
	Header map[string][]string
}

// Client is what a client declared: per request in the modern era, at initialize in the legacy one.
// It is unverified and decides nothing but what the client may be asked.
type Client struct {
	// Info is the Implementation object; nil when the client did not say.
	Info json.RawMessage
	// Capabilities as declared.
	Capabilities Capabilities
}

// InputResponse is one answer of the client to a round's request.
type InputResponse struct {
	Key string
	// Method is what was asked; empty when not known: then the shape of Result decides.
	Method Method
	// Result is the client's bare result.
	Result json.RawMessage
}

// Description is what the edge says of itself to a principal under one revision.
type Description struct {
	// ServerInfo is the Implementation object.
	ServerInfo json.RawMessage
	// Capabilities is the ServerCapabilities object.
	Capabilities json.RawMessage
	// Instructions for the model; empty: none.
	Instructions string
	// Digest of the lists.
	Digest Digest
	// TTL in milliseconds and Public scope, where the revision has cache hints.
	TTL    int64
	Public bool
}
