package mcp

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// Envelope is the message that answers a request, so that a result can be rendered in its place in it and need
// not be copied there. The zero Envelope is none: a result stands alone.
type Envelope struct {
	// ID of the request.
	ID jsonrpc.ID
}

// Begin returns where to append a result of about size bytes, which Reply then takes.
func (e Envelope) Begin(size int) []byte {
	if e.ID.IsZero() {
		return body(size)
	}
	return jsonrpc.AppendResultHead(body(size+jsonrpc.ResultRoom+len(e.ID.Raw())), e.ID)
}

// Reply is the reply with a result that was appended to what Begin gave.
func (e Envelope) Reply(dst []byte) Reply {
	if e.ID.IsZero() {
		return Reply{Result: dst}
	}
	head := jsonrpc.ResultHeadLen(e.ID)
	end := len(dst)
	dst = append(dst, '}')
	return Reply{Result: json.RawMessage(dst[head:end:end]), message: dst}
}

// Message is the message that answers the request of an id with the reply's result; its memory is shared with Result.
func (r *Reply) Message(id jsonrpc.ID) []byte {
	if r.message != nil {
		return r.message
	}
	return jsonrpc.AppendResult(body(len(r.Result)+len(id.Raw())+jsonrpc.ResultRoom), id, r.Result)
}
