package streamable

import (
	"bytes"
	"net/http"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// unary is the stream of a client that only accepts JSON. Progress and log messages are dropped,
// and the responses become one JSON body at the end. Any other message (a request to the client,
// the acknowledgement of a subscription) needs an event stream, which is then opened.
type unary struct {
	x         *outgoing
	responses [][]byte
	// stream is nil while the response is JSON.
	stream *stream
}

var _ mcp.Stream = (*unary)(nil)

// Send implements mcp.Stream.
func (u *unary) Send(ev mcp.StreamEvent) error {
	if u.stream != nil {
		return u.stream.Send(ev)
	}
	if len(ev.Data) == 0 {
		return nil // a priming event
	}
	msg, err := jsonrpc.Parse(ev.Data)
	switch {
	case err == nil && (msg.Kind == jsonrpc.Response || msg.Kind == jsonrpc.ErrorResponse):
		u.responses = append(u.responses, bytes.Clone(ev.Data))
		return nil
	case err == nil && (msg.Method == string(mcp.NotifyProgress) || msg.Method == string(mcp.NotifyMessage)):
		return nil
	}
	x := u.x
	x.events = x.guard.Answering(x.w)
	x.w, u.stream = nil, &stream{x.events}
	for _, r := range u.responses {
		if err := u.stream.Send(mcp.StreamEvent{Data: r, More: true}); err != nil {
			return err
		}
	}
	return u.stream.Send(ev)
}

// KeepAlive implements mcp.Stream. Before the response nothing may be written.
func (u *unary) KeepAlive() error {
	if u.stream == nil {
		return nil
	}
	return u.stream.KeepAlive()
}

// end writes the body. A stream that was closed before its response, for the client to resume, has
// none.
func (u *unary) end() {
	x := u.x
	switch {
	case u.stream != nil:
		return
	case len(u.responses) == 0:
		x.guard.Refuse(x.w, http.StatusBadGateway, "the call continues without this request, and its response is available on a stream only: accept "+web.TypeEvents)
		return
	}
	body := u.responses[0]
	if x.batch {
		body = append(append([]byte{'['}, bytes.Join(u.responses, []byte{','})...), ']')
	}
	x.Respond(mcp.Response{Body: body})
}
