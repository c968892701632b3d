package stateful

import (
	"context"
	"encoding/binary"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// observe begins the operation of a message that is no call. rec is nil where no session is known.
func (e *Era) observe(ctx context.Context, in *mcp.Incoming, rec *record, rules *revision.Rules, msg jsonrpc.Message) (context.Context, telemetry.Operation) {
	return e.observeSince(ctx, in, rec, rules, msg, time.Time{})
}

// observeSince is observe for a message that was received when began says; zero: now.
func (e *Era) observeSince(ctx context.Context, in *mcp.Incoming, rec *record, rules *revision.Rules, msg jsonrpc.Message, began time.Time) (context.Context, telemetry.Operation) {
	t := e.o.Telemetry
	if t == nil {
		return ctx, telemetry.Operation{}
	}
	// What is wrong with the params is told by whoever serves the message.
	params, _ := mcp.ParseParams(mcp.Method(msg.Method), msg.Params)
	r := telemetry.Request{
		Method: mcp.Method(msg.Method), ID: msg.ID, Params: params, Version: rules.Version, Header: in.Header,
		Pipe: in.Header == nil, Began: began,
	}
	if rec != nil {
		r.Session, r.Client = rec.print, rec.clientName
	} else if len(in.Session) <= maxSessionID {
		r.Session = telemetry.SessionPrint(in.Session)
	}
	return t.Begin(ctx, &r)
}

// observeCall begins the operation of a call that came in with a message.
func (r *run) observeCall(in *mcp.Incoming) {
	t := r.e.o.Telemetry
	if t == nil {
		return
	}
	q := r.request()
	q.Header = in.Header
	r.ctx, r.op = t.Begin(r.ctx, &q)
	r.origin = r.op.SpanContext()
}

// observeClaim begins the operation of a call that is gone on with here: the same request, hence the same
// trace and the same beginning.
func (r *run) observeClaim(c *state.Claim, why telemetry.Reason) {
	t := r.e.o.Telemetry
	if t == nil {
		return
	}
	r.origin = telemetry.ParseParent(c.Call.Trace)
	q := r.request()
	q.Began, q.Origin, q.Internal, q.Reason = c.Call.Began, r.origin, true, why
	if q.Before = r.before; !q.Before.IsValid() {
		q.Before = r.origin
	}
	r.ctx, r.op = t.Begin(r.ctx, &q)
}

func (r *run) request() telemetry.Request {
	rec := r.s.rec.Load()
	q := telemetry.Request{
		Method: r.call.Method, ID: r.id, Params: &r.call.Params, Version: r.rules.Version,
		Session: rec.print, Client: rec.clientName, Round: r.call.Round, Attempt: r.call.Attempt,
		Pipe: r.s.pipe.Load(),
	}
	q.Backend, q.Known = r.e.dispatch.Served(&r.call)
	return q
}

// stored makes a span for an operation on the durable state, part of the run's.
func (r *run) stored(what string, began time.Time, err error) {
	r.e.o.Telemetry.Stored(r.op.SpanContext(), what, began, err)
}

// answeredAll records the requests to the client whose answers a claim has.
func (r *run) answeredAll(c *state.Claim) {
	t := r.e.o.Telemetry
	if t == nil {
		return
	}
	rec := r.s.rec.Load()
	for i := range c.Answers {
		a := &c.Answers[i]
		sent := telemetry.Sent{
			Method: a.Method, ID: a.ID, Promise: telemetry.Promised(a.Message), Parent: r.before, At: a.Asked,
			Version: r.rules.Version, Session: rec.print, Pipe: r.s.pipe.Load(),
		}
		if a.Error != nil {
			code, _ := jsonrpc.Member(a.Error, "code")
			message, _ := jsonrpc.Member(a.Error, "message")
			sent.Failed = true
			sent.Code, _ = strconv.Atoi(string(code))
			sent.Message, _ = jsonrpc.Unquote(message)
		}
		t.Answered(&sent)
	}
}

// lost is the outcome of a run that another replica goes on with.
var lost = telemetry.Outcome{Lost: true}

// keptState is what is kept of a round in the record: how often the client was asked, and the round's span
// if there is one, before the backend's own state. openState reads it.
func keptState(asked int, round trace.SpanContext, own []byte) []byte {
	span := telemetry.FormatParent(round)
	b := binary.AppendUvarint(make([]byte, 0, len(own)+len(span)+4), uint64(asked)) // #nosec G115 -- a count is not negative
	b = binary.AppendUvarint(b, uint64(len(span)))
	return append(append(b, span...), own...)
}

func openState(kept []byte) (asked int, round trace.SpanContext, own []byte) {
	n, size := binary.Uvarint(kept)
	if size <= 0 {
		return 0, round, nil
	}
	kept = kept[size:]
	length, size := binary.Uvarint(kept)
	if size <= 0 || length > uint64(len(kept)-size) { // #nosec G115 -- size is at most the length
		return int(n), round, nil // #nosec G115 -- keptState wrote it, from an int
	}
	round = telemetry.ParseParent(string(kept[size : size+int(length)])) // #nosec G115 -- compared with the length above
	if own = kept[size+int(length):]; len(own) == 0 {                    // #nosec G115 -- compared with the length above
		own = nil
	}
	return int(n), round, own // #nosec G115 -- keptState wrote it, from an int
}
