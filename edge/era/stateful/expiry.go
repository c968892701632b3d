package stateful

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// A standalone stream ends when the credentials of its session have expired, unless a later request
// of the session, on any replica, had newer ones. The replica of that request writes them to the
// record at its next revalidation. The replica with the stream reads the record before it ends the
// stream. The stream of a call ends only with the call.

// renew records when the credentials of a request expire. It takes no lock, and writes to shared
// memory only if they are newer.
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

// expiry returns when the session's credentials expire, as far as this replica knows. Zero means
// unknown or never.
func (s *localSession) expiry() time.Time {
	until := s.rec.Load().Principal.Until
	switch ns := s.until.Load(); {
	case ns == forever:
		return time.Time{}
	case ns > 0 && mcp.Outlasts(time.Unix(0, ns), until):
		return time.Unix(0, ns)
	}
	return until
}

// noteCaller records the credentials of a request if they differ from the record's. The list changes
// that a session gets depend on the rights of its last credentials. noteCaller writes to shared
// memory only if the credentials change. The record may lack a recent write of another replica. A
// request whose credentials equal the older ones is then not recorded; the session's next request
// is.
func (s *localSession) noteCaller(rec *record, who *mcp.Principal) {
	if who.SameRights(&rec.Principal) {
		return
	}
	if last := s.caller.Load(); last == nil || !who.SameRights(last) {
		now := *who
		s.caller.Store(&now)
	}
}

// renewed returns the patch with the credentials from renew and noteCaller. It returns false if the
// record already has them. These outlive the request that had them: a revalidation may come between
// the request's look at its session and its credentials, or find the store unavailable.
func (s *localSession) renewed() (p state.Patch, changed bool) {
	rec := s.rec.Load()
	if rec == nil {
		return p, false
	}
	if s.caller.Load() == nil && s.until.Load() == 0 {
		return p, false
	}
	if who := s.caller.Swap(nil); who != nil && !who.SameRights(&rec.Principal) {
		p.Principal, changed = who, true
	}
	if s.until.Load() != 0 && !rec.Principal.Until.IsZero() && (changed || mcp.Outlasts(s.expiry(), rec.Principal.Until)) {
		until := s.expiry()
		p.Until, changed = &until, true
	}
	return p, changed
}

// noteRenewals writes new credentials to the records.
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
			return // They are written when the store is available again.
		}
	}
}

// untilExpiry returns the time for which the stream may be silent: KeepAlive, or less if its
// credentials expire earlier. It returns false if they have expired and no other replica has
// recorded newer ones, and counts that.
func (w *standalone) untilExpiry() (time.Duration, bool) {
	pause := w.e.o.KeepAlive
	for reloaded := false; w.expires; reloaded = true {
		until := w.s.expiry()
		left := time.Until(until.Add(2 * w.e.o.Heartbeat)) // The margin is for other replicas' writes.
		switch {
		case until.IsZero():
			return pause, true
		case left > 0:
			return min(pause, left), true
		case reloaded || w.e.refresh(w.ctx, w.s) != nil:
			w.e.counters.Expired.Add(1)
			return 0, false
		}
	}
	return pause, true
}
