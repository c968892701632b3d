package era

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// HeaderVersion carries the protocol version over HTTP.
const HeaderVersion = "Mcp-Protocol-Version"

// Router parses received messages and passes each to its era. A message is stateless if its `_meta`
// names a protocol version, if the version header is a stateless revision's, or if it cancels a
// stateless request on the same connection. Otherwise it is stateful. An initialize is stateless
// only by its `_meta`, because it negotiates whatever the header says. A request outside a session
// whose header names an unknown revision is stateless; that era's error lists the known revisions.
// If sessions are optional, a message of the stateful era that names none is served by itself.
//
// Safe for concurrent use.
type Router struct {
	Stateless Stateless
	Stateful  Stateful
	// Sessionless serves requests and notifications of the revisions with sessions that name no
	// session, over transports that do not remember it. nil requires a session.
	Sessionless Stateless
	// MaxBatch bounds the messages of one batch; 0 means 64.
	MaxBatch int
	// Telemetry counts the batches that exceed MaxBatch; nil disables it.
	Telemetry *telemetry.Telemetry
}

// Post serves one received message or batch.
func (r *Router) Post(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	ctx = mcp.WithToken(ctx, in.Token)
	if jsonrpc.IsBatch(in.Body) {
		r.batch(ctx, in, out)
		return
	}
	msg, err := jsonrpc.ParseOutlined(in.Body, &in.Outline)
	if err != nil {
		refuse(in, out, err)
		return
	}
	if modern(in, msg) {
		r.Stateless.Message(ctx, in, msg, out)
		return
	}
	if lacksSession(in) && msg.Kind == jsonrpc.Request && mcp.Method(msg.Method) != mcp.MethodInitialize {
		r.Telemetry.SessionMissing(Assumed(in).Version)
	}
	if r.withoutSession(in, msg) {
		r.Sessionless.Message(ctx, in, msg, out)
		return
	}
	r.Stateful.Message(ctx, in, msg, out)
}

// lacksSession reports whether a message of the stateful era names no session, although only its client can.
func lacksSession(in *mcp.Incoming) bool { return in.PerRequest && in.Session == "" }

// withoutSession reports whether a message of the stateful era is served without a session. An answer needs
// the session of its question, and initialize creates a session.
func (r *Router) withoutSession(in *mcp.Incoming, msg jsonrpc.Message) bool {
	switch {
	case r.Sessionless == nil, !lacksSession(in), unknownHeader(in):
		return false
	case msg.Kind == jsonrpc.Notification:
		return true
	}
	return msg.Kind == jsonrpc.Request && mcp.Method(msg.Method) != mcp.MethodInitialize
}

// Assumed returns the rules for a message of the stateful era whose session is unknown. They are
// those of the version header, or revision.Assumed if there is no header or the era does not serve
// the version.
func Assumed(in *mcp.Incoming) *revision.Rules {
	if r, ok := revision.ByVersion(NamedVersion(in)); ok && !r.Stateless {
		return r
	}
	return revision.Assumed()
}

// NamedVersion returns the version header; empty means none.
func NamedVersion(in *mcp.Incoming) string {
	if in.Header == nil {
		return ""
	}
	return in.Header.Get(HeaderVersion)
}

// modern reports whether a message is of the stateless era. A cancellation needs no `_meta`,
// because the cancelled request has one.
func modern(in *mcp.Incoming, msg jsonrpc.Message) bool {
	asks := msg.Kind == jsonrpc.Request
	switch {
	case asks && mcp.Method(msg.Method) == mcp.MethodInitialize:
		return modernMeta(msg)
	case modernHeader(in), asks && in.Session == "" && unknownHeader(in):
		return true
	case msg.Kind == jsonrpc.Response || msg.Kind == jsonrpc.ErrorResponse:
		return false
	case modernMeta(msg):
		return true
	case in.Conn == nil || msg.Kind != jsonrpc.Notification || mcp.Method(msg.Method) != mcp.NotifyCancelled:
		return false
	}
	id, ok := CancelledID(msg)
	return ok && in.Conn.Has(id)
}

// CancelledID returns the id of the request that a cancellation names; false if there is none.
func CancelledID(msg jsonrpc.Message) (jsonrpc.ID, bool) {
	raw, ok := jsonrpc.Member(msg.Params, "requestId")
	if !ok {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.NewID(string(raw))
	return id, err == nil
}

// refuse answers a malformed body. It echoes the id if the body has a readable one, unless that is the id
// of a response, and so of a request of the edge. It ignores a malformed response on a connection: two
// peers would otherwise answer each other's errors without end.
func refuse(in *mcp.Incoming, out mcp.Outgoing, err error) {
	pe := &jsonrpc.ParseError{Code: jsonrpc.CodeParseError, Message: err.Error()}
	errors.As(err, &pe)
	if in.Conn != nil && pe.Reply {
		out.Accept()
		return
	}
	kind := mcp.KindInvalidRequest
	if pe.Code == jsonrpc.CodeParseError {
		kind = mcp.KindParse
	}
	id := pe.ID
	if pe.Reply {
		id = jsonrpc.ID{}
	}
	out.Respond(mcp.Response{Body: jsonrpc.AppendError(nil, id, pe.Code, pe.Message, nil), Kind: kind, Modern: modernHeader(in)})
}

// Listen serves a GET. Only the stateful era has streams that outlive their request.
func (r *Router) Listen(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	r.Stateful.Listen(mcp.WithToken(ctx, in.Token), in, out)
}

// End ends a session.
func (r *Router) End(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	r.Stateful.End(ctx, in, out)
}

func (r *Router) batch(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	if modernHeader(in) {
		refuse(in, out, &jsonrpc.ParseError{
			Code: jsonrpc.CodeInvalidRequest, Message: "batches exist in no stateless revision: send one message per request",
		})
		return
	}
	batch, err := jsonrpc.ParseBatch(in.Body, cmp.Or(r.MaxBatch, 64))
	if err != nil {
		var pe *jsonrpc.ParseError
		if errors.As(err, &pe) && pe.TooMany {
			r.Telemetry.Hit(telemetry.BoundBatch)
		}
		refuse(in, out, err)
		return
	}
	if lacksSession(in) {
		r.Telemetry.SessionMissing(Assumed(in).Version)
	}
	r.Stateful.Batch(ctx, in, batch, out)
}

func modernHeader(in *mcp.Incoming) bool { return revision.Modern(NamedVersion(in)) }

// unknownHeader reports whether the version header names an unknown revision.
func unknownHeader(in *mcp.Incoming) bool {
	version := NamedVersion(in)
	_, known := revision.ByVersion(version)
	return version != "" && !known
}

// modernMeta reports whether `_meta` has the version key, without decoding the rest.
func modernMeta(msg jsonrpc.Message) bool {
	if len(msg.Params) == 0 {
		return false
	}
	named := false
	inMeta := func(key []byte, value json.RawMessage) error {
		named = named || string(key) == mcp.MetaVersion && jsonrpc.TypeOf(value) != jsonrpc.Null
		return nil
	}
	_ = msg.Outline.Members(msg.Params, func(key []byte, value json.RawMessage) error {
		if string(key) != "_meta" || jsonrpc.TypeOf(value) != jsonrpc.Object {
			return nil
		}
		return msg.Outline.MetaMembers(msg.Params, value, inMeta)
	})
	return named
}
