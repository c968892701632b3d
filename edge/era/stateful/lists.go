package stateful

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// Replicas put changed lists in force at different times, for example when their settings files
// change one after the other. A client that the replica with its stream notifies may then read the
// old lists at another replica. That replica remembers the lists that it has served, and has the
// client notified again once its lists change.

// servedListsTTL is the time for which a replica remembers served lists that differ from those of the
// client's last notification.
const servedListsTTL = 5 * time.Minute

// servedLists are lists that a client has read here while its stream is elsewhere.
type servedLists struct {
	digest mcp.Digest
	who    mcp.Principal
	until  time.Time
	// differ is true once the client is known to have been notified of other lists. Only watchServed
	// uses it.
	differ bool
}

// isListing reports whether a method reads a list.
func isListing(m mcp.Method) bool {
	switch m {
	case mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodTemplatesList:
		return true
	}
	return false
}

// serveLists remembers the lists that a client is about to read, if its stream is at another
// replica. A change between serveLists and the reading is reported again.
func (e *Era) serveLists(ctx context.Context, s *localSession, rec *record, who *mcp.Principal) {
	if rec.Attachment == 0 || s.attached() != nil {
		return
	}
	s.served.Store(&servedLists{
		digest: e.server.Describe(ctx, rec.rules, rec.Set, *who).Digest(), who: *who, until: time.Now().Add(servedListsTTL),
	})
}

// watchServed makes the replicas with the streams notify clients that have read lists here which
// have changed since, and which differ from those of the last notification. The records of the
// sessions must be newly loaded.
func (e *Era) watchServed(ctx context.Context, sessions []*localSession) {
	for _, s := range sessions {
		l, rec := s.served.Load(), s.rec.Load()
		if l == nil || rec == nil {
			continue
		}
		if !l.differ && l.digest == rec.Digest || s.attached() != nil || time.Now().After(l.until) {
			s.served.CompareAndSwap(l, nil)
			continue
		}
		l.differ = true
		if e.server.Describe(ctx, rec.rules, rec.Set, l.who).Digest() == l.digest || !s.served.CompareAndSwap(l, nil) {
			continue
		}
		if _, err := e.update(ctx, s, state.Patch{Digest: &l.digest}); err == nil {
			e.notify(ctx, state.SessionEvent{Kind: state.ListsServed, Session: s.id})
		}
	}
}

// sendListChanges sends the changes between the lists of the session's record and those that are here.
func (w *standalone) sendListChanges() error {
	rec := w.s.rec.Load()
	now := w.e.server.Describe(w.ctx, rec.rules, rec.Set, *w.a.principal.Load()).Digest()
	return w.send(w.ctx, listChanges(rec.Digest, now))
}
