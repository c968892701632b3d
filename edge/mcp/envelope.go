package mcp

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Envelope is the message that answers a request, so that a result is rendered directly into it and
// need not be copied. With the zero Envelope a result stands alone.
type Envelope struct {
	// ID is the id of the request.
	ID jsonrpc.ID
}

// Begin returns a slice to append a result of about size bytes to, for Reply.
func (e Envelope) Begin(size int) []byte {
	if e.ID.IsZero() {
		return body(size)
	}
	return jsonrpc.AppendResultHead(body(size+jsonrpc.ResultRoom+len(e.ID.Raw())), e.ID)
}

// Reply returns the reply for a result that was appended to the slice from Begin.
func (e Envelope) Reply(dst []byte) Reply {
	if e.ID.IsZero() {
		return Reply{Result: dst}
	}
	head := jsonrpc.ResultHeadLen(e.ID)
	end := len(dst)
	dst = append(dst, '}')
	return Reply{Result: json.RawMessage(dst[head:end:end]), message: dst}
}

// Message returns the message that answers the request with id by the reply's result. It shares
// memory with Result.
func (r *Reply) Message(id jsonrpc.ID) []byte {
	if r.message != nil {
		return r.message
	}
	return jsonrpc.AppendResult(body(len(r.Result)+len(id.Raw())+jsonrpc.ResultRoom), id, r.Result)
}
