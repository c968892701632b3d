package stateful

import (
	"context"
	"encoding/binary"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// observe begins the operation of a message that is not a call. rec is nil if no session is known.
func (e *Era) observe(ctx context.Context, in *mcp.Incoming, rec *record, rules *revision.Rules, msg jsonrpc.Message) (context.Context, telemetry.Operation) {
	return e.observeSince(ctx, in, rec, rules, msg, time.Time{})
}

// observeSince is observe for a message received at began. Zero means now.
func (e *Era) observeSince(ctx context.Context, in *mcp.Incoming, rec *record, rules *revision.Rules, msg jsonrpc.Message, began time.Time) (context.Context, telemetry.Operation) {
	t := e.o.Telemetry
	if t == nil {
		return ctx, telemetry.Operation{}
	}
	// The handler of the message reports invalid params.
	params, _ := mcp.ParamsOf(msg)
	r := telemetry.Request{
		Method: mcp.Method(msg.Method), ID: msg.ID, Params: params, Version: rules.Version, Header: in.Header,
		Pipe: in.Header == nil, Began: began, Principal: in.Principal, From: in.Address,
	}
	if rec != nil {
		r.Session, r.Client = rec.print, rec.clientName
	} else if len(in.Session) <= maxSessionID {
		r.Session = telemetry.SessionPrint(in.Session)
	}
	return t.Begin(ctx, &r)
}

// observe begins the operation of a call that came in with a message. ctx is that of the exchange.
func (c *execution) observe(ctx context.Context, in *mcp.Incoming) {
	c.ctx = ctx
	t := c.e.o.Telemetry
	if t == nil {
		return
	}
	q := c.request()
	q.Header = in.Header
	c.ctx, c.op = t.Begin(ctx, &q)
	c.origin = c.op.SpanContext()
}

// observeClaim begins the operation of a call that continues here. It is the same request, so it
// keeps trace and start time.
func (c *execution) observeClaim(why call.Why, began time.Time) {
	t := c.e.o.Telemetry
	if t == nil {
		return
	}
	c.origin = telemetry.ParseParent(c.record.Trace)
	asked, _, _ := openState(c.record.State)
	q := c.request()
	q.Round, q.Attempt = asked+1, max(c.record.Attempt, 1)
	q.Began, q.Origin, q.Internal, q.Reason = c.record.Began, c.origin, true, telemetry.ReasonTakenOver
	if q.Before = c.before; !q.Before.IsValid() {
		q.Before = c.origin
	}
	operation := "claim"
	switch why {
	case call.ByAnswer:
		q.Reason, operation = telemetry.ReasonAnswered, "answer"
	case call.ByCancel:
		q.Reason = telemetry.ReasonCancelled
	}
	c.ctx, c.op = t.Begin(c.ctx, &q)
	t.Stored(c.origin, operation, began, nil)
	if why == call.ByAnswer {
		c.observeAnswers(t)
	}
}

func (c *execution) request() telemetry.Request {
	rec := c.s.rec.Load()
	q := telemetry.Request{
		Method: c.call.Method, ID: c.id, Params: &c.call.Params, Version: c.rules.Version,
		Session: rec.print, Client: rec.clientName, Round: c.call.Round, Attempt: c.call.Attempt,
		Pipe: c.s.pipe.Load(), Principal: c.call.Principal, Call: c.call.ID, From: c.call.From,
	}
	q.Backend = c.call.Backend
	return q
}

// observeAnswers records the requests to the client whose answers a claimed call has.
func (c *execution) observeAnswers(t *telemetry.Telemetry) {
	rec := c.s.rec.Load()
	for i := range c.record.Asked {
		a := &c.record.Asked[i]
		if a.Answer == nil {
			continue
		}
		sent := telemetry.Sent{
			Method: a.Method, ID: a.ID, Promise: telemetry.Promised(a.Message), Parent: c.before, At: a.Asked,
			Version: c.rules.Version, Session: rec.print, Pipe: c.s.pipe.Load(),
		}
		if a.Answer.Error != nil {
			code, _ := jsonrpc.Member(a.Answer.Error, "code")
			message, _ := jsonrpc.Member(a.Answer.Error, "message")
			sent.Failed = true
			sent.Code, _ = strconv.Atoi(string(code))
			sent.Message, _ = jsonrpc.Unquote(message)
		}
		t.Answered(&sent)
	}
}

// keptState returns the state of a round in the record: how often the client was asked and the
// round's span, if there is one, before the backend's own state. openState reads it.
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
