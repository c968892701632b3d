package stateful

import (
	"context"
	"strconv"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// observe begins the operation of a message that is not a call. rec is nil if the session is
// unknown.
func (e *Era) observe(ctx context.Context, in *mcp.Incoming, rec *record, rules *revision.Rules, msg jsonrpc.Message) (context.Context, telemetry.Operation) {
	return e.observeSince(ctx, in, rec, rules, msg, time.Time{})
}

// observeSince is observe for a message that was received at began. Zero means now.
func (e *Era) observeSince(ctx context.Context, in *mcp.Incoming, rec *record, rules *revision.Rules, msg jsonrpc.Message, began time.Time) (context.Context, telemetry.Operation) {
	// The handler of the message reports invalid params.
	params, _ := mcp.ParamsOf(msg)
	r := era.OperationOf(in, msg, rules, params)
	r.Began = began
	if rec != nil {
		r.Session, r.Client = rec.print, rec.clientName
	} else if id, _ := e.nonceOf(in.Session); len(id) <= maxSessionID {
		r.Session = telemetry.SessionPrint(id)
	}
	return e.o.Telemetry.Begin(ctx, &r)
}

// observe begins the operation of a call that came in with a message. ctx is that of the exchange.
func (c *runner) observe(ctx context.Context, in *mcp.Incoming) {
	q := c.request()
	q.Header = in.Header
	c.Context, c.op = c.e.o.Telemetry.Begin(ctx, &q)
	c.origin = c.op.SpanContext()
}

// observeClaim begins the operation of a call that continues here. As it is the same request, it
// keeps trace and start time.
func (c *runner) observeClaim(why call.Why, began time.Time) {
	t := c.e.o.Telemetry
	c.origin = telemetry.ParseParent(c.record.Trace)
	asked, _, _, _ := runtime.OpenState(c.record.State)
	q := c.request()
	q.Round, q.Attempt = asked+1, runtime.AttemptOf(&c.record, why)
	q.Began, q.Origin, q.Internal, q.Reason = c.record.Began, c.origin, true, telemetry.ReasonTakenOver
	if q.Before = c.Before; !q.Before.IsValid() {
		q.Before = c.origin
	}
	operation := "claim"
	switch why {
	case call.ByAnswer:
		q.Reason, operation = telemetry.ReasonAnswered, "answer"
	case call.ByCancel:
		q.Reason = telemetry.ReasonCancelled
	}
	c.Context, c.op = t.Begin(c.Context, &q)
	t.Stored(c.origin, operation, began, nil)
	if why == call.ByAnswer {
		c.observeAnswers(t)
	}
}

func (c *runner) request() telemetry.Request {
	rec := c.s.rec.Load()
	q := era.OperationOfCall(&c.First, c.Rules)
	q.Session, q.Client, q.Pipe = rec.print, rec.clientName, c.s.pipe.Load()
	return q
}

// observeAnswers records the requests to the client whose answers a claimed call has.
func (c *runner) observeAnswers(t *telemetry.Telemetry) {
	rec := c.s.rec.Load()
	for i := range c.record.Asked {
		a := &c.record.Asked[i]
		if a.Answer == nil {
			continue
		}
		sent := telemetry.Sent{
			Method: a.Method, ID: a.ID, Promise: telemetry.Promised(a.Message), Parent: c.Before, At: a.Asked,
			Version: c.Rules.Version, Session: rec.print, Pipe: c.s.pipe.Load(),
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
