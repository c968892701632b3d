package stateful

import (
	"context"
	"errors"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// Batch serves an array of messages (Base Protocol, "Batching"). Its requests are answered together:
// with one array if all end in time, else on one stream that the last response ends.
func (e *Era) Batch(ctx context.Context, in *mcp.Incoming, batch []jsonrpc.BatchEntry, out mcp.Outgoing) {
	refuse := func(rules *revision.Rules, err *mcp.Error) {
		e.refuseBatch(ctx, in, out, rules, batch, err)
	}
	if !e.work.enter() {
		refuse(revision.Assumed(), shuttingDown())
		return
	}
	defer e.work.leave()
	if err := checkVersion(in); err != nil {
		refuse(revision.Assumed(), err)
		return
	}
	for _, b := range batch {
		if err := admit(in, b.Kind, b.Method); err != nil {
			refuse(revision.Assumed(), err)
			return
		}
		if b.Kind == jsonrpc.Request && mcp.Method(b.Method) == mcp.MethodInitialize {
			refuse(revision.Assumed(), mcp.Errorf(mcp.KindInvalidRequest, "initialize cannot be part of a batch; send it alone"))
			return
		}
	}
	s, rec, err := e.hold(ctx, in)
	if err != nil {
		refuse(revision.Assumed(), err)
		return
	}
	if !rec.rules.Batching {
		refuse(rec.rules, mcp.Errorf(mcp.KindInvalidRequest,
			"protocol version %s has no batches; send one message at a time", rec.rules.Version))
		return
	}
	g := newGroup(ctx, e, s, rec, in, out)
	g.array = true
	for i := range batch {
		if err := e.entry(ctx, in, g, &batch[i]); err != nil {
			// Nothing of what was begun has run yet.
			g.discard(failure(rec.rules, jsonrpc.ID{}, err))
			e.refuseBatch(ctx, in, out, rec.rules, batch[i:], err)
			g.release()
			return
		}
	}
	if len(g.runs) == 0 {
		g.respond()
		g.release()
		return
	}
	g.release() // The responses of the batch's requests may take long.
	in.Admit()
	g.serve()
}

// entry serves one entry as far as no backend is needed, and adds it to the group else. An error
// refuses the whole batch.
func (e *Era) entry(ctx context.Context, in *mcp.Incoming, g *group, b *jsonrpc.BatchEntry) *mcp.Error {
	switch {
	case b.Err != nil:
		var pe *jsonrpc.ParseError
		if errors.As(b.Err, &pe) && !pe.Reply {
			g.ready = append(g.ready, jsonrpc.AppendError(nil, pe.ID, pe.Code, pe.Message, nil))
		}
	case b.Kind == jsonrpc.Notification:
		e.notified(ctx, in, g.s, g.rec, b.Message)
	case b.Kind != jsonrpc.Request:
		release, err := e.answered(ctx, g.s, b.Message)
		if release != nil {
			g.released = append(g.released, release)
		}
		return err
	default:
		if o, ok := e.local(ctx, in, g.s, g.rec, b.Message); ok {
			g.ready = append(g.ready, o.body)
			return nil
		}
		if err := g.add(b.Message); err != nil {
			switch me := beginError(err); {
			case errors.Is(err, errGone), errors.Is(err, errClosed):
				return me
			default:
				g.ready = append(g.ready, e.refused(ctx, in, g.rec, g.rec.rules, b.Message, me).body)
			}
		}
	}
	return nil
}

// refuseBatch answers for all of a batch with one error, which is what each of its requests ended with; left
// are those entries of which telemetry has seen nothing.
func (e *Era) refuseBatch(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing, rules *revision.Rules, left []jsonrpc.BatchEntry, err *mcp.Error) {
	for i := range left {
		if left[i].Err == nil && left[i].Kind == jsonrpc.Request {
			e.refused(ctx, in, nil, rules, left[i].Message, err)
		}
	}
	e.refuse(ctx, in, out, rules, jsonrpc.Message{}, err)
}

// release runs the calls that a batch's answers completed.
func (g *group) release() {
	for _, run := range g.released {
		run()
	}
}

// discard gives up calls that were added and not run.
func (g *group) discard(o outcome) {
	for _, r := range g.runs {
		r.op.End(&o.seen)
		r.done()
	}
}
