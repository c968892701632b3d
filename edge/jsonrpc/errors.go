package jsonrpc

// The error codes that JSON-RPC 2.0 itself defines (section 5.1, "Error object").
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
)

// ParseError says why bytes are not a message. Code, ID and Message are fit to be sent back as an
// error response.
type ParseError struct {
	// Code is [CodeParseError] if the text is not JSON, else [CodeInvalidRequest].
	Code int
	// ID is the message's id if it had exactly one and it was valid; else zero. It is always zero
	// with CodeParseError.
	ID ID
	// Reply is true if the message had no method but a result or an error: it is a peer's response
	// gone wrong. On a symmetric transport it must not be answered, lest two peers answer each
	// other's errors for ever.
	Reply bool
	// TooMany is true for a batch of more messages than are allowed.
	TooMany bool
	// Message is one line: what was wrong, and what is expected instead.
	Message string
	// Offset is the byte, counted from the start of the text given, at which it was noticed.
	Offset int
}

// Error is the message: it may become part of one that a peer reads.
func (e *ParseError) Error() string { return e.Message }
