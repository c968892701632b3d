package stateful

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// A standalone stream ends when the credentials of its session have expired, unless a later request
// of the session, on any replica, came with newer ones. That replica writes them to the record at
// its next revalidation; the replica with the stream reads the record before it ends the stream.
// The streams of calls end with their call only.

// renew notes when the credentials of a request expire. It takes no lock, and writes nothing shared
// unless they are newer.
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

// forever is localSession.until for credentials without expiry.
const forever = 1<<63 - 1

// good returns when the session's credentials expire, as far as this replica knows. Zero means
// unknown or never.
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

// cameWith notes the credentials of a request if they differ from the record's. Which list changes
// a session is sent depends on the rights of its last credentials. It writes nothing shared unless
// they change. The record may lack what another replica wrote a moment ago: a request whose
// credentials equal the older ones is then not noted, and the session's next request is.
func (s *localSession) cameWith(rec *record, who *mcp.Principal) {
	if who.SameRights(&rec.Principal) {
		return
	}
	if last := s.caller.Load(); last == nil || !who.SameRights(last) {
		now := *who
		s.caller.Store(&now)
	}
}

// renewed returns the patch with what renew and cameWith noted. It returns false if the record has
// it.
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

// noteRenewals writes to the records what was noted since the last time.
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
			return // It is written when the store is back.
		}
	}
}

// untilExpiry returns how long the stream may be silent: KeepAlive, or less if its credentials
// expire earlier. It returns false if they have expired and no other replica has noted newer ones.
func (w *standalone) untilExpiry() (time.Duration, bool) {
	pause := w.e.o.KeepAlive
	if !w.expires {
		return pause, true
	}
	until := w.s.good()
	if until.IsZero() {
		return pause, true
	}
	left := time.Until(until.Add(2 * w.e.o.Heartbeat)) // in which other replicas write what they have noted
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
