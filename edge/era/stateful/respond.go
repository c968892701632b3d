package stateful

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

func resultOf(id jsonrpc.ID, result []byte) era.Response {
	body := jsonrpc.AppendResult(make([]byte, 0, len(result)+len(id.Raw())+40), id, result)
	return era.Response{Response: mcp.Response{Body: body, Owned: true}}
}

// respond ends an exchange with a response.
func respond(out mcp.Outgoing, r era.Response) {
	if r.Body == nil {
		out.Accept()
		return
	}
	out.Respond(r.Response)
}

// refuse ends an exchange whose message was not served. rec is nil if its session is unknown. On a
// symmetric transport without headers, only requests are answered: the peer would take any other
// answer for a new message.
func (e *Era) refuse(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing, rec *record, msg jsonrpc.Message, err *mcp.Error) {
	rules := rulesOf(in, rec)
	switch {
	case msg.Kind == jsonrpc.Request:
		respond(out, e.refused(ctx, in, nil, rules, msg, err))
	case in.Header == nil && msg.Kind != 0:
		out.Accept()
	default:
		respond(out, era.Failure(rules, jsonrpc.ID{}, err))
	}
}

// rulesOf returns the rules of a session; rec is nil if it is unknown.
func rulesOf(in *mcp.Incoming, rec *record) *revision.Rules {
	if rec == nil {
		return era.Assumed(in)
	}
	return rec.rules
}

// refused returns the response to a request that did not begin. rec is nil if its session is
// unknown.
func (e *Era) refused(ctx context.Context, in *mcp.Incoming, rec *record, rules *revision.Rules, msg jsonrpc.Message, err *mcp.Error) era.Response {
	o := era.Failure(rules, msg.ID, err)
	_, op := e.observe(ctx, in, rec, rules, msg)
	op.End(&o.Outcome)
	return o
}

// toolError returns a tool result with an error text for a model.
func toolError(text string) []byte {
	b := append([]byte(nil), `{"content":[{"type":"text","text":`...)
	b = jsonrpc.AppendString(b, text)
	return append(b, `}],"isError":true}`...)
}

// These errors are the causes of cancelled contexts: the reasons for the early end of a call, a
// reader or an attachment. errGone and errClosed are also the responses to requests that come then.
var (
	errCancelled  = errors.New("the client cancelled the request")
	errGone       = sessionNotFound()
	errClosed     = mcp.ShuttingDown()
	errSuperseded = errors.New("a newer stream has replaced this one")
)

// errEvicted means that the copy was evicted between lookup and use. Look it up again.
var errEvicted = errors.New("the copy is no longer held")

// stateError converts an error of the store for the client. It counts and logs a store that is
// unavailable; what says which operation failed.
func (e *Era) stateError(what string, err error) *mcp.Error {
	me := stateError(err)
	if me != nil && me.Kind == mcp.KindStateUnavailable {
		e.counters.StateErrors.Add(1)
		e.o.Logger.Warn(what, "error", err)
	}
	return me
}

// storeError is stateError for an operation on a session. It drops the copy of a session that no
// longer exists.
func (e *Era) storeError(s *localSession, err error) *mcp.Error {
	me := e.stateError("state operation failed", err)
	if me != nil && me.Kind == mcp.KindSessionNotFound {
		e.drop(s)
	}
	return me
}

// stateError converts an error of the store for the client; nil stays nil.
func stateError(err error) *mcp.Error {
	if err == nil {
		return nil
	}
	var room *state.RoomError
	var owned *state.PrincipalRoomError
	kind, message := mcp.KindLimit, "too many sessions, streams or subscriptions are open; end some, or try again later"
	switch {
	case errors.Is(err, state.ErrNotFound), errors.Is(err, errGone):
		return sessionNotFound()
	case errors.As(err, &room):
		message = fmt.Sprintf("this session keeps %d of at most %d bytes in its subscriptions, calls and streams, and %d more do not fit: "+
			"end subscriptions, answer or cancel what waits, or let calls end", room.Used, room.Max, room.More)
	case errors.As(err, &owned):
		message = fmt.Sprintf("your sessions and tasks keep %d of at most %d bytes, and %d more do not fit: "+
			"end sessions, cancel tasks or answer what waits, or ask for less", owned.Used, owned.Max, owned.More)
	case errors.Is(err, state.ErrLimit):
	case errors.Is(err, state.ErrTooLarge):
		kind, message = mcp.KindTooLarge, "the message is larger than what may be kept for a stream"
	default:
		kind, message = mcp.KindStateUnavailable, "the session state cannot be reached; try again later"
	}
	return &mcp.Error{Kind: kind, Err: err, Message: message}
}

// limitOf returns the bound that an ErrLimit is about: the bytes of the session or of its
// principal, otherwise other.
func limitOf(err error, other telemetry.Bound) telemetry.Bound {
	if errors.As(err, new(*state.PrincipalRoomError)) {
		return telemetry.BoundPrincipalBytes
	}
	if errors.As(err, new(*state.RoomError)) {
		return telemetry.BoundSessionBytes
	}
	return other
}

func sessionNotFound() *mcp.Error {
	return mcp.Errorf(mcp.KindSessionNotFound, "the session does not exist or has ended; send initialize for a new one")
}

// sessionRequired returns the error for a message without a session. It names the ways to send one
// that the transport has.
func sessionRequired(in *mcp.Incoming) *mcp.Error {
	stateless := revision.Stateless().Version
	switch {
	case in.PerRequest:
		return mcp.Errorf(mcp.KindSessionRequired, "the session id is missing; send initialize first, then its session id with every message, "+
			"or send each message without a session, with the header MCP-Protocol-Version: %s", stateless)
	case in.Header != nil: // HTTP+SSE
		return mcp.Errorf(mcp.KindSessionRequired, "the connection has no session; send initialize first")
	default:
		return mcp.Errorf(mcp.KindSessionRequired, "the connection has no session; send initialize first, "+
			"or send each message without a session, with the member %s of _meta, %q", mcp.MetaVersion, stateless)
	}
}

var texts = runtime.Texts{
	call.Late:         "the call did not end within {lifetime}, answers of the client included",
	call.NoClient:     "the client does not read the call's events", // The client disconnected before it got an event id.
	call.Oversized:    "the response is larger than what a stream may keep; ask for less",
	call.OversizedAsk: "what the call asks of the client is larger than what a stream may keep",
	call.NoIDs:        "the client has so many requests to answer that no id was found for another",
	call.Poison: "{lost} servers were lost, one after the other, while they ran the call, and it is not run again: " +
		"{method} may be what ends them, do not send it again unchanged",
	call.UnknownOutcome: "the server that ran the call was lost; whether {method} took effect is not known: check before you send it again",
}

// render makes the response of a failure (call.Config). It takes no lock.
func (e *Era) render(r *medium.Record, f call.Failure, err error) []byte {
	rules := revision.Assumed()
	if s := e.sessions.get(r.Session); s != nil && s.rec.Load() != nil {
		rules = s.rec.Load().rules
	}
	id, _ := jsonrpc.NewID(r.RequestID)
	return era.Failure(rules, id, e.failed(r, f, err)).Body
}

// failed returns the error of a failure. why is call.Reply.Err.
func (e *Era) failed(r *medium.Record, f call.Failure, why error) error {
	switch f {
	case call.NoSession:
		return sessionNotFound()
	case call.Leaving:
		return mcp.ShuttingDown()
	case call.NoStore: // The backend was called, and has asked.
		return &mcp.Error{Kind: mcp.KindStateUnavailable, Err: state.ErrUnavailable, Message: "the session state cannot be reached, " +
			"without which the client cannot be asked; the call had begun: check what took effect before you send it again later"}
	case call.Full:
		return stateError(cmp.Or(why, state.ErrLimit))
	}
	return texts.Error(r, f, e.o.CallLifetime)
}
