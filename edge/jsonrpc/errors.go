package jsonrpc

// The error codes of JSON-RPC 2.0 (section 5.1, "Error object").
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
)

// ParseError says why a text is not a message. Code, ID and Message are suitable for an error
// response.
type ParseError struct {
	// Code is [CodeParseError] if the text is not JSON, else [CodeInvalidRequest].
	Code int
	// ID is the message's id if there was exactly one and it was valid, else zero. It is always
	// zero with CodeParseError.
	ID ID
	// Reply is true if the message had no method but a result or an error: it is an invalid
	// response of the peer. On a symmetric transport it must not be answered, because two peers
	// could answer each other's errors forever.
	Reply bool
	// TooMany is true for a batch with too many messages.
	TooMany bool
	// Message is one line: what is wrong, and what is expected instead.
	Message string
	// Offset is the position of the fault in bytes from the start of the text.
	Offset int
}

// Error returns the message. It may be sent to a peer.
func (e *ParseError) Error() string { return e.Message }
