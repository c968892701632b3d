package mcp

import (
	"encoding/json"
	"net/netip"

	"github.com/mcpedge/mcpedge/edge/budget"
)

// Call is one round of a request on its way to dispatch, the same for both eras.
//
// Its raw members alias the request's body: code that keeps a Call beyond the exchange must Clone
// it. A Call does not change after it was passed to dispatch.
type Call struct {
	// ID is the contract's call_id: random, stable over rounds and re-runs.
	ID string
	// Attempt is 1 for the first run of a round, and rises with each rerun after a replica was
	// lost.
	Attempt int
	// Round is 1 for the first round, and rises with each set of answers.
	Round  int
	Method Method
	// Set is the name of the set in which the request was made, and which resolves its names. Empty means
	// the root, which has everything.
	Set    string
	Params Params
	// Envelope is the message that the result is rendered into.
	Envelope Envelope
	// Header has the HTTP headers to check against the body. nil means nothing to check.
	Header Header
	// HTTP is the HTTP request with the round, which policy may inspect. The zero value means that
	// there is none, or that it is no longer known, as in a later round of a session.
	HTTP HTTP
	// Target is the target that was resolved for the round. With nil the round resolves it itself.
	Target *Target
	// Principal is the verified caller.
	Principal Principal
	// From is the client's address. The zero Addr means none or, in a later round, unknown. It
	// authenticates nothing.
	From netip.Addr
	// Client has the client's declarations for this call.
	Client Client
	// LogLevel is the lowest severity that the client wants from this call.
	LogLevel LogLevel
	// Begun is true if dispatch ran an earlier round or attempt of the call, or an attempt of this
	// round whose backend was busy. Without sessions that is unknown, and Begun is false.
	Begun bool
	// Backend is the configured name of the backend that ran the earlier rounds: State and
	// Responses are only for it. Empty means no earlier round.
	Backend string
	// Responses are the client's answers to the last round.
	Responses []InputResponse
	// State is the backend's own state from the last round, verbatim.
	State []byte
	// Task is the task that the call is or may become. nil means a plain call.
	Task *CallTask
	// Memory is charged for the call and its result by the goroutine that runs the round. Its owner
	// releases it once the result is no longer needed. nil charges nothing.
	Memory *budget.Reservation
}

// Header is the part of http.Header that the stages after a transport may see. The implementation
// canonicalises names.
type Header interface {
	Get(name string) string
	Values(name string) []string
}

// HTTP is the part of an HTTP request that policy may inspect. It does not keep the request alive.
// The zero value means none.
type HTTP struct {
	// Host is the requested host.
	Host string
	// Path is escaped and without the query, which may contain a secret of a connection.
	Path string
	// Header has the headers by their canonical names, including credentials. It must not be
	// changed.
	Header map[string][]string
}

// Client has the declarations of a client: those of the request in the stateless era, those of
// initialize in the stateful one. They are not verified, and only decide what the client can be
// asked for.
type Client struct {
	// Info is the Implementation object. nil means that the client sent none.
	Info json.RawMessage
	// Capabilities as declared.
	Capabilities Capabilities
}

// InputResponse is one answer of the client to a round's request.
type InputResponse struct {
	Key string
	// Method is the method of the request that it answers. Empty means unknown: then the shape of
	// Result decides.
	Method Method
	// Result is the client's bare result.
	Result json.RawMessage
}

// Description describes the edge to a principal under one revision.
type Description struct {
	// ServerInfo is the Implementation object.
	ServerInfo json.RawMessage
	// Capabilities is the ServerCapabilities object.
	Capabilities json.RawMessage
	// Instructions are for the model. Empty means none.
	Instructions string
	// Digest computes the digest of the lists. It takes long for lists that this replica has not served before.
	Digest func() Digest
	// TTL, in milliseconds, and Public are the cache hints, if the revision has them.
	TTL    int64
	Public bool
}
