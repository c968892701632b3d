package stateful

import (
	"context"
	"errors"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Batch serves an array of messages (Base Protocol, "Batching"). Its requests are answered
// together: with one array if all end in time, otherwise on one stream that the last response ends.
func (e *Era) Batch(ctx context.Context, in *mcp.Incoming, batch []jsonrpc.BatchEntry, out mcp.Outgoing) {
	refuse := func(rec *record, err *mcp.Error) {
		e.refuseBatch(ctx, in, out, rec, batch, err)
	}
	if !e.work.Enter() {
		refuse(nil, mcp.ShuttingDown())
		return
	}
	defer e.work.Leave()
	for _, b := range batch {
		if err := admit(in, b.Kind, b.Method); err != nil {
			refuse(nil, err)
			return
		}
		if isInitialize(b.Message) {
			refuse(nil, mcp.Errorf(mcp.KindInvalidRequest, "initialize cannot be part of a batch; send it alone"))
			return
		}
	}
	s, rec, err := e.requireSession(ctx, in)
	switch {
	case err != nil && err.Kind == mcp.KindSessionRequired && e.sealsID(in):
		err.Message = "a batch needs a session, and the request names none: " +
			"send its messages one by one, or initialize, then the Mcp-Session-Id of its response with every request"
	case err == nil && !rec.rules.Batching:
		err = mcp.Errorf(mcp.KindInvalidRequest, "protocol version %s has no batches; send one message at a time", rec.rules.Version)
	}
	if err != nil {
		refuse(rec, err)
		return
	}
	x := e.newExchange(ctx, s, rec, in, out)
	x.array = true
	for i := range batch {
		if batch[i].Kind == jsonrpc.Request && isListing(mcp.Method(batch[i].Method)) {
			e.serveLists(ctx, s, rec, &in.Principal)
		}
		if err := e.entry(ctx, in, x, &batch[i]); err != nil {
			// No call of the batch has run yet.
			x.discard(err)
			e.refuseBatch(ctx, in, out, rec, batch[i:], err)
			x.releaseAnswered()
			return
		}
	}
	if len(x.calls) == 0 {
		x.Respond(nil)
		x.releaseAnswered()
		return
	}
	x.releaseAnswered() // The responses of the batch's own requests may take long.
	in.Admit()
	if x.resolve(); len(x.calls) == 0 {
		x.Respond(nil)
		return
	}
	x.serve()
}

// entry serves an entry that needs no backend, and adds any other to the exchange. An error refuses
// the whole batch.
func (e *Era) entry(ctx context.Context, in *mcp.Incoming, x *exchange, b *jsonrpc.BatchEntry) *mcp.Error {
	switch {
	case b.Err != nil:
		var pe *jsonrpc.ParseError
		if errors.As(b.Err, &pe) && !pe.Reply {
			x.ready = append(x.ready, jsonrpc.AppendError(nil, pe.ID, pe.Code, pe.Message, nil))
		}
	case b.Kind == jsonrpc.Notification:
		e.notified(ctx, in, x.s, x.rec, b.Message)
	case b.Kind != jsonrpc.Request:
		release, err := e.answered(ctx, in, x.s, b.Message)
		if release != nil {
			x.released = append(x.released, release)
		}
		return err
	default:
		if isLocal(b.Message) {
			x.ready = append(x.ready, e.local(ctx, in, x.s, x.rec, b.Message).Body)
			return nil
		}
		if err := x.add(b.Message); err != nil {
			if errors.Is(err, errGone) || errors.Is(err, errClosed) {
				return mcp.AsError(err)
			}
			x.ready = append(x.ready, e.refused(ctx, in, x.rec, x.rec.rules, b.Message, mcp.AsError(err)).Body)
		}
	}
	return nil
}

// refuseBatch answers a whole batch with one error, which is the outcome of each of its requests.
// left are the entries without an operation in telemetry.
func (e *Era) refuseBatch(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing, rec *record, left []jsonrpc.BatchEntry, err *mcp.Error) {
	for i := range left {
		if left[i].Err == nil && left[i].Kind == jsonrpc.Request {
			e.refused(ctx, in, nil, rulesOf(in, rec), left[i].Message, err)
		}
	}
	e.refuse(ctx, in, out, rec, jsonrpc.Message{}, err)
}

// releaseAnswered runs the calls that the batch's answers completed.
func (x *exchange) releaseAnswered() {
	for _, run := range x.released {
		run()
	}
}
