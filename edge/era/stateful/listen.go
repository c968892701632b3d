package stateful

import (
	"context"
	"errors"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Listen serves a GET: it resumes the stream that in.LastEventID names (Transports, "Resumability
// and Redelivery"), or attaches the session's standalone stream.
func (e *Era) Listen(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	refuse := func(rec *record, err *mcp.Error) { e.refuse(ctx, in, out, rec, jsonrpc.Message{}, err) }
	if !e.work.Enter() {
		refuse(nil, mcp.ShuttingDown())
		return
	}
	defer e.work.Leave()
	s, rec, err := e.requireSession(ctx, in)
	if err != nil && err.Kind == mcp.KindSessionRequired && in.LastEventID == "" {
		// Some clients open their stream before they have a session. They take 405 to mean that
		// there is no stream yet.
		err = mcp.Errorf(mcp.KindNoStream, "there is no stream without a session: send initialize by POST first, then GET with its session id")
	}
	if err != nil {
		refuse(nil, err)
		return
	}
	var w *standalone
	if in.LastEventID == "" {
		w, err = e.attach(ctx, in, s, out)
	} else {
		err = e.resumeStream(ctx, in, s, rec, out)
	}
	if err != nil {
		refuse(rec, err)
	}
	if w != nil {
		w.serve() // called last, so that an idle stream keeps no other data alive
	}
}

// resumeStream resumes a stream after an event. An error means that nothing was opened.
func (e *Era) resumeStream(ctx context.Context, in *mcp.Incoming, s *localSession, rec *record, out mcp.Outgoing) *mcp.Error {
	stream, at, err := medium.ParseEventID(in.LastEventID)
	if err != nil {
		return mcp.Errorf(mcp.KindBadEventID, "Last-Event-ID: %w", err)
	}
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	began := time.Now()
	page, err := e.store.Read(sctx, s.id, stream, at, 1)
	switch {
	case errors.Is(err, state.ErrNotFound):
		if _, err := e.store.Load(sctx, s.id, true); err != nil {
			return e.storeError(s, err)
		}
		if !e.calls.StoreWasUnavailable() { // Otherwise the stream may be restored.
			return unknownStream(in.LastEventID)
		}
	case err != nil:
		return e.storeError(s, err)
	case page.Ahead && at.Epoch.Counter() > page.Last.Epoch.Counter()+medium.MaxAhead:
		return unknownStream(in.LastEventID)
	case page.Ended && len(page.Entries) == 0 && !page.Ahead && e.responded(sctx, s.id, stream, at):
		return mcp.Errorf(mcp.KindNoStream,
			"Last-Event-ID %.80q is that of the last response of its stream, which has ended: there is nothing to resume", in.LastEventID)
	}
	st, oerr := out.Open()
	if oerr != nil {
		return nil
	}
	e.counters.StreamsResumed.Add(1)
	trace := page.Trace // the only part of the page that is still needed
	e.follow(ctx, st, s, rec, in.Memory.Holder(), runtime.Log{Stream: stream, After: at, CaughtUp: func(replayed int) {
		e.counters.EventsReplayed.Add(int64(replayed))
		e.o.Telemetry.Resumed(in.Header, telemetry.ParseParent(trace), rec.print, replayed, began)
	}})
	return nil
}

// responded reports whether the entry at a position is a response.
//
// Clients with an older TypeScript SDK, such as Gemini CLI, resume the stream of each call that
// ends, although they have its response. If the resumed stream ended at once, they would open a
// standalone stream in its place, one more for each call. They take 405 to mean that there is none.
func (e *Era) responded(ctx context.Context, session, stream string, at medium.Position) bool {
	if at.Seq == 0 {
		return false
	}
	before := medium.Position{Epoch: at.Epoch, Seq: at.Seq - 1}
	page, err := e.store.Read(ctx, session, stream, before, 1)
	return err == nil && len(page.Entries) > 0 && page.Entries[0].Position() == at && page.Entries[0].Kind == state.EntryResponse
}

func unknownStream(id string) *mcp.Error {
	return mcp.Errorf(mcp.KindBadEventID, "Last-Event-ID %.80q names no stream of this session that is still kept", id)
}

// addReader makes r the reader of its stream. A client that reconnects replaces its previous reader,
// whose disconnect may not have been noticed: no event goes to two connections.
func (s *localSession) addReader(ctx context.Context, r *reader) context.Context {
	ctx, r.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		r.cancel(s.ended)
		return ctx
	}
	if old := s.readers[r.stream]; old != nil {
		old.cancel(errSuperseded)
	}
	if s.readers == nil {
		s.readers = map[string]*reader{}
	}
	s.readers[r.stream] = r
	s.used.Store(true)
	return ctx
}

func (s *localSession) removeReader(r *reader) {
	r.cancel(nil)
	s.mu.Lock()
	if s.readers[r.stream] == r {
		delete(s.readers, r.stream)
		s.freeParkedOf(r.stream)
	}
	s.mu.Unlock()
}

// follow sends the existing and the new entries of a log. It returns when the stream has ended, the
// client disconnects, this replica closes, or another connection takes over. h is charged for the
// page being sent.
func (e *Era) follow(ctx context.Context, st mcp.Stream, s *localSession, rec *record, h *budget.Holder, l runtime.Log) {
	r := &reader{e: e, session: s.id, stream: l.Stream, holder: h, memory: h.Begin()}
	ctx = s.addReader(ctx, r)
	defer s.removeReader(r)
	l.Session, l.Resumable, l.Read = s.id, rec.rules.Priming, r.read
	l.Responding = func() { s.releaseParkedIDs(l.Stream) }
	e.calls.Follow(ctx, st, l)
}
