package stateful

import (
	"context"
	"errors"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Listen serves a reader: it resumes the stream that in.LastEventID names (Transports, "Resumability
// and Redelivery"), or attaches the session's standalone stream.
func (e *Era) Listen(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	rules := revision.Assumed()
	refuse := func(err *mcp.Error) { e.refuse(ctx, in, out, rules, jsonrpc.Message{}, err) }
	if !e.work.enter() {
		refuse(shuttingDown())
		return
	}
	defer e.work.leave()
	if err := checkVersion(in); err != nil {
		refuse(err)
		return
	}
	if in.Session == "" && in.LastEventID == "" {
		// Clients open their stream before they have a session, too, and take 405 for an edge that has none yet.
		refuse(mcp.Errorf(mcp.KindNoStream, "there is no stream without a session: send initialize by POST first, then GET with its session id"))
		return
	}
	s, rec, err := e.hold(ctx, in)
	if err != nil {
		refuse(err)
		return
	}
	rules = rec.rules
	var w *standalone
	if in.LastEventID == "" {
		w, err = e.attach(ctx, in, s, out)
	} else {
		err = e.resumeStream(ctx, in, s, rec, out)
	}
	if err != nil {
		refuse(err)
	}
	if w != nil {
		w.stay() // last, so that an idle stream keeps nothing else alive
	}
}

// resumeStream goes on with a stream after an event. An error means that nothing was opened.
func (e *Era) resumeStream(ctx context.Context, in *mcp.Incoming, s *held, rec *record, out mcp.Outgoing) *mcp.Error {
	pos, err := state.ParsePosition(in.LastEventID)
	if err != nil {
		return mcp.Errorf(mcp.KindBadEventID, "Last-Event-ID: %w", err)
	}
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	began := time.Now()
	page, err := e.store.Read(sctx, s.id, pos, 1)
	switch {
	case errors.Is(err, state.ErrNotFound):
		if _, err := e.store.Load(sctx, s.id); err != nil {
			return e.lost(s, err)
		}
		return mcp.Errorf(mcp.KindBadEventID, "Last-Event-ID %.80q names no stream of this session that is still kept", in.LastEventID)
	case err != nil:
		return e.lost(s, err)
	}
	st, oerr := out.Open()
	if oerr != nil {
		return nil
	}
	e.counters.StreamsResumed.Add(1)
	trace := page.Trace // and nothing else of the page
	e.follow(ctx, st, s, rec, pos, follows{holder: in.Memory.Holder(), caughtUp: func(replayed int) {
		e.counters.EventsReplayed.Add(int64(replayed))
		e.o.Telemetry.Resumed(in.Header, telemetry.ParseParent(trace), rec.print, replayed, began)
	}})
	return nil
}

// reader is one follower of a stream on this replica. A client that comes back replaces the one it
// lost, which may not have noticed yet: no event goes to two connections.
type reader struct {
	cancel context.CancelCauseFunc
}

func (s *held) addReader(ctx context.Context, stream string) (context.Context, *reader) {
	r := &reader{}
	ctx, r.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		r.cancel(s.ended)
		return ctx, r
	}
	if old := s.readers[stream]; old != nil {
		old.cancel(errSuperseded)
	}
	if s.readers == nil {
		s.readers = map[string]*reader{}
	}
	s.readers[stream] = r
	s.used.Store(true)
	return ctx, r
}

func (s *held) removeReader(stream string, r *reader) {
	r.cancel(nil)
	s.mu.Lock()
	if s.readers[stream] == r {
		delete(s.readers, stream)
		s.unfollowed(stream)
	}
	s.mu.Unlock()
}

// follows says how a stream is followed.
type follows struct {
	// holder is charged with what is being sent; nil: nobody is.
	holder *budget.Holder
	// opening: the stream's head leaves with what is written first.
	opening bool
	// prime: a first event without data is due, so that the client has an id to come back with.
	prime bool
	// caughtUp, if set, is told how many events were there at first.
	caughtUp func(sent int)
}

// follower sends a stream's log to one client. It lives in the exchange's goroutine.
type follower struct {
	e   *Era
	s   *held
	st  mcp.Stream
	pos state.Position
	follows
	// sent counts events.
	sent int
	// unread: the last reading failed, so what it was woken for may be there.
	unread bool
	// told is when something was last written.
	told time.Time
	// ended: the log has, and all of it was sent.
	ended bool
	// lag is nil but while the log does not reach pos.
	lag *lag

	// memory is what is being sent, and permit what it was read with.
	memory budget.Reservation
	permit *budget.Permit
}

// follow sends what the log has after a position, and what it gets, until the stream has ended, the
// client or this replica goes, or another connection takes over. It returns whether the stream has ended, and the
// client has all of it.
func (e *Era) follow(ctx context.Context, st mcp.Stream, s *held, rec *record, pos state.Position, how follows) bool {
	ctx, r := s.addReader(ctx, pos.Stream)
	defer s.removeReader(pos.Stream, r)
	if e.closed.Load() {
		return false
	}
	e.counters.Streams.Add(1)
	defer e.counters.Streams.Add(-1)
	f := &follower{e: e, s: s, st: st, pos: pos, follows: how, told: time.Now(), memory: how.holder.Begin()}
	defer f.releasePage()
	wake, stop := e.store.Follow(s.id, pos.Stream)
	defer stop()
	t := e.timer(0)
	defer e.putTimer(t)
	for {
		on := f.catchUp(ctx)
		if on && f.opening && st.KeepAlive() != nil {
			return false
		}
		f.opening = false
		if f.caughtUp != nil {
			f.caughtUp(f.sent)
			f.caughtUp = nil
		}
		if !on {
			return f.ended
		}
		// Nobody comes back to a stream without an id from it.
		var parting <-chan struct{}
		if rec.rules.Priming && f.pos.Epoch > 0 {
			parting = e.parting
		}
		t.Reset(f.pause())
		select {
		case <-wake:
		case <-t.C:
			if time.Since(f.told) >= e.o.KeepAlive {
				if st.KeepAlive() != nil {
					return false
				}
				f.told = time.Now()
			}
		case <-parting:
			f.comeBack()
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// pause is how long to wait without a wake-up: until the stream is to be kept alive, or the log to be
// read again because another replica may write it, or because it could not be read.
func (f *follower) pause() time.Duration {
	idle := f.e.o.KeepAlive - time.Since(f.told)
	if f.unread || f.lag != nil || !f.s.writtenHere(f.pos.Stream) {
		idle = min(idle, readPause)
	}
	return max(idle, time.Millisecond)
}

// catchUp sends all there is. It returns false when the stream is over for this client.
func (f *follower) catchUp(ctx context.Context) bool {
	for ctx.Err() == nil {
		page, on := f.read(ctx, f.pos)
		switch {
		case page == nil:
			return on
		case page.Ahead:
			return f.lagging(ctx)
		case page.Rewound:
			f.e.counters.Rollbacks.Add(1)
		}
		f.lag = nil
		sent := f.send(*page)
		f.releasePage()
		if !sent {
			return false
		}
		if f.ended = page.Ended; f.ended {
			return false
		}
		if page.AtEnd {
			return true
		}
	}
	return false
}

// read reads a page, for releasePage to give back. When there is none, on says whether to try again later.
func (f *follower) read(ctx context.Context, pos state.Position) (_ *state.Page, on bool) {
	rctx, cancel := context.WithTimeout(ctx, stateTimeout)
	page, err := f.e.store.Read(rctx, f.s.id, pos, 0)
	cancel()
	f.unread = err != nil
	switch {
	case lostCall(err):
		return nil, false
	case err != nil:
		if ctx.Err() == nil {
			f.e.counters.StateErrors.Add(1)
		}
		return nil, ctx.Err() == nil
	case !f.reservePage(ctx, pos, &page):
		f.unread = true
		return nil, ctx.Err() == nil
	}
	return &page, true
}

// send writes a page's events, all of them at once where that is possible. A client that does not take them
// in time is let go: it resumes.
func (f *follower) send(page state.Page) bool {
	f.pos.Epoch = page.Epoch
	if page.Rewound {
		f.pos.Seq = 0
	}
	if f.prime {
		f.prime = false
		prime := mcp.StreamEvent{ID: f.pos.String(), Retry: f.e.o.RetryHint, More: len(page.Entries) > 0}
		if f.st.Send(prime) != nil {
			return false
		}
		f.told, f.opening = time.Now(), false
	}
	for i, en := range page.Entries {
		if en.Kind == state.EntryResponse {
			f.s.answeredHere(f.pos.Stream)
		}
		f.pos.Seq = en.Seq
		if f.st.Send(mcp.StreamEvent{ID: f.pos.String(), Data: en.Data, More: i+1 < len(page.Entries) || page.Ended}) != nil {
			return false
		}
		f.sent++
	}
	if len(page.Entries) > 0 {
		f.told, f.opening = time.Now(), false
	}
	return true
}

// comeBack asks the client to reconnect, with the id to come back with.
func (f *follower) comeBack() {
	_ = f.st.Send(mcp.StreamEvent{ID: f.pos.String(), Retry: f.e.o.RetryHint})
}
