package stateful

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// A standalone stream ends when the credentials have ceased to be good that its session came with, unless a later request
// of the session came with others, at whichever replica. Such a replica notes them in the record at its next
// revalidation, where the one with the stream looks before it ends it. The streams of calls run on: they end with their call.

// renew notes until when a request's credentials are good. It takes no lock and writes nothing that is shared.
func (s *localSession) renew(until time.Time) {
	ns := int64(forever)
	if !until.IsZero() {
		ns = until.UnixNano()
	}
	for old := s.until.Load(); ns > old; old = s.until.Load() {
		if s.until.CompareAndSwap(old, ns) {
			return
		}
	}
}

// forever is localSession.until of credentials that do not say.
const forever = 1<<63 - 1

// good is until when the session's credentials are good, as far as is known here; zero: nobody said.
func (s *localSession) good() time.Time {
	rec := s.rec.Load()
	until := rec.Principal.Until
	switch ns := s.until.Load(); {
	case ns == forever:
		return time.Time{}
	case ns > 0 && mcp.Outlasts(time.Unix(0, ns), until):
		return time.Unix(0, ns)
	}
	return until
}

// cameWith notes the credentials of a request, if the record has others. What a session is told of its lists is by the rights of its last
// credentials. It writes nothing that is shared unless they change.
func (s *localSession) cameWith(rec *record, who *mcp.Principal) {
	if who.SameRights(&rec.Principal) {
		return
	}
	if last := s.caller.Load(); last == nil || !who.SameRights(last) {
		now := *who
		s.caller.Store(&now)
	}
}

// renewed returns the patch that notes what renew and cameWith heard; false when the record knows it.
func (s *localSession) renewed() (p state.Patch, changed bool) {
	rec := s.rec.Load()
	if rec == nil {
		return p, false
	}
	if who := s.caller.Swap(nil); who != nil && !who.SameRights(&rec.Principal) {
		p.Principal, changed = who, true
	}
	if s.until.Load() != 0 && !rec.Principal.Until.IsZero() {
		until := s.good()
		p.Until, changed = &until, changed || mcp.Outlasts(until, rec.Principal.Until)
	}
	return p, changed
}

// noteRenewals writes to the records what renew heard since.
func (e *Era) noteRenewals(ctx context.Context, sessions []*localSession) {
	for _, s := range sessions {
		p, changed := s.renewed()
		if !changed {
			continue
		}
		if !e.work.Enter() {
			return
		}
		_, err := e.update(ctx, s, p)
		if p.Principal != nil && err == nil {
			e.notify(ctx, state.SessionEvent{Kind: state.SessionChanged, Session: s.id})
		} else if p.Principal != nil {
			s.caller.CompareAndSwap(nil, p.Principal)
		}
		e.work.Leave()
		if err != nil && err.Kind == mcp.KindStateUnavailable {
			return // it is noted when the state is back
		}
	}
}

// untilExpiry is how long the stream may be silent: KeepAlive, or less where its credentials end before. It returns false
// when they have, and no other replica has heard of newer ones.
func (w *standalone) untilExpiry() (time.Duration, bool) {
	pause := w.e.o.KeepAlive
	if !w.expires {
		return pause, true
	}
	until := w.s.good()
	if until.IsZero() {
		return pause, true
	}
	left := time.Until(until.Add(2 * w.e.o.Heartbeat)) // in which others note what they have heard
	if left > 0 {
		return min(pause, left), true
	}
	if err := w.e.refresh(w.ctx, w.s); err != nil {
		return 0, false
	}
	if until = w.s.good(); until.IsZero() {
		return pause, true
	}
	left = time.Until(until.Add(2 * w.e.o.Heartbeat))
	return min(pause, left), left > 0
}
