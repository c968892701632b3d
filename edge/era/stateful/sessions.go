package stateful

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// record is a loaded session with derived values. It is immutable.
type record struct {
	*state.Session
	rules  *revision.Rules
	client mcp.Client
	// print and clientName identify the session for telemetry.
	print, clientName string
}

func (e *Era) newRecord(s *state.Session) *record {
	// The error is ignored, because initialize has refused invalid capabilities.
	caps, _ := mcp.ParseCapabilities(s.Capabilities)
	return &record{
		Session: s, rules: revision.Negotiate(s.Version), client: mcp.Client{Info: s.ClientInfo, Capabilities: caps},
		print: telemetry.SessionPrint(s.ID), clientName: e.o.Telemetry.ClientName(s.ClientInfo),
	}
}

// localSession is this replica's copy of a session, with its work on this replica.
type localSession struct {
	id  string
	rec atomic.Pointer[record]
	// fresh is when the record was last confirmed, in Unix nanoseconds.
	fresh atomic.Int64
	// until is the latest expiry of the credentials of requests here, in Unix nanoseconds. 0 means
	// that there was no request yet.
	until atomic.Int64
	// caller is the principal of a request here whose credentials differ from the record's, until
	// the record has them. nil means that there is none.
	caller atomic.Pointer[mcp.Principal]
	// served has the lists that the client has read here. nil means that there are none to compare.
	served atomic.Pointer[servedLists]
	// used is true if a message arrived for the session, or work of it began, since the last check.
	used atomic.Bool
	// pipe is true if its messages arrive over a pipe.
	pipe atomic.Bool
	// payer is charged for the session's work here. nil means that there was no request yet.
	payer atomic.Pointer[budget.Holder]

	// Loads are numbered: a load that began after a request for a load satisfies the request.
	loading sync.Mutex
	asked   atomic.Uint64
	loaded  uint64 // guarded by loading, as is the error of the last load
	loadErr error

	mu         sync.Mutex
	ended      error              // errGone, errEvicted, errClosed: no work may begin any more
	running    map[string]*runner // by request id
	readers    map[string]*reader // the newest follower of each stream
	standalone *attachment
	standbys   []*standby // the newest last
	remoteIDs  remoteIDs
	unattached bool // the attached stream ended without a standby here
	memory     budget.Reservation
	forgotten  bool // the charge was released, and no further charge is made

	// The revalidation loop owns these fields. working is true if calls of the session ran or were
	// followed at the last check.
	working               bool
	lastUsed, lastTouched time.Time
}

func newLocalSession(id string) *localSession {
	return &localSession{id: id, running: map[string]*runner{}, lastUsed: time.Now()}
}

// requireSession checks the version header of an incoming message, finds its session, and checks
// that it belongs to the message's principal and set.
func (e *Era) requireSession(ctx context.Context, in *mcp.Incoming) (*localSession, *record, *mcp.Error) {
	if err := checkVersion(in); err != nil {
		return nil, nil, err
	}
	if in.Session == "" {
		return nil, nil, sessionRequired(in)
	}
	id, seal := e.nonceOf(in.Session)
	if id == "" || len(id) > maxSessionID || len(in.Session) > maxSealedID {
		return nil, nil, sessionNotFound()
	}
	s, err := e.lookUp(ctx, in, id, seal)
	if err != nil {
		return nil, nil, err
	}
	if in.Header == nil {
		s.pipe.Store(true)
	}
	rec := s.rec.Load()
	if rec.Set != in.Set {
		return nil, nil, sessionNotFound()
	}
	if !rec.Principal.Is(&in.Principal) {
		return nil, nil, e.foreign(ctx, in, id)
	}
	if s.payer.Load() == nil {
		s.payer.Store(in.Memory.Holder())
	}
	if !rec.Principal.Until.IsZero() {
		s.renew(in.Principal.Until)
	}
	if in.Principal.Subject != "" {
		s.noteCaller(rec, &in.Principal)
	}
	return s, rec, nil
}

// session returns the held copy. It loads the record if there is no copy or the copy is stale; the
// error is that of loading.
func (e *Era) session(ctx context.Context, id string) (*localSession, error) {
	s := e.keep(id)
	if s.rec.Load() != nil && time.Now().UnixNano()-s.fresh.Load() <= int64(e.o.SessionStale) {
		return s, nil
	}
	return s, e.refresh(ctx, s)
}

// keep returns the copy of a session, empty if it is new. It marks the copy as used, which delays
// its eviction.
func (e *Era) keep(id string) *localSession {
	for {
		s := e.sessions.get(id)
		if s == nil {
			v, _ := e.sessions.byID.LoadOrStore(id, newLocalSession(id))
			s = v.(*localSession)
		}
		s.used.Store(true)
		s.mu.Lock()
		evicted := errors.Is(s.ended, errEvicted)
		s.mu.Unlock()
		if !evicted {
			return s
		}
		e.sessions.remove(s)
	}
}

// refresh reloads the record. It drops a session that no longer exists.
func (e *Era) refresh(ctx context.Context, s *localSession) error {
	ticket := s.asked.Add(1)
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loaded >= ticket {
		return s.loadErr
	}
	s.loaded = s.asked.Load()
	began, returns := time.Now().UnixNano(), e.returns.Load()
	s.mu.Lock()
	s.remoteIDs.loads++
	s.mu.Unlock()
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	got, err := e.store.Load(sctx, s.id, true)
	s.loadErr = err
	switch {
	case errors.Is(err, state.ErrNotFound):
		e.drop(s)
	case err != nil:
		e.counters.StateErrors.Add(1)
		if s.rec.Load() == nil {
			e.sessions.remove(s)
		}
	default:
		s.fresh.Store(began)
		s.loadEnds(got.Requests, returns)
		e.install(s, got.Session, true)
	}
	return err
}

// install makes a record the current one, unless the current one is newer. A superseded standalone
// stream becomes a standby. With sync, the subscriptions of an attached one are updated in the
// background: because the client subscribed on another replica, changes since then may have been
// missed. It returns the record. The caller has entered e.work.
func (e *Era) install(s *localSession, got *state.Session, sync bool) *record {
	rec := e.newRecord(got)
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.rec.Load()
	if old != nil && old.Serial >= got.Serial {
		return rec
	}
	s.rec.Store(rec)
	s.chargeCopy(e, rec)
	a := s.standalone
	if a == nil {
		return rec
	}
	if got.Attachment > a.number {
		a.cancel(errSuperseded)
		return rec
	}
	a.tasks.set(got.Tasks, false)
	if !got.Principal.SameRights(a.principal.Load()) {
		who := got.Principal
		a.principal.Store(&who)
		e.work.Spawn(func() {
			e.updateFeed(e.life, a, func(ctx context.Context) error { return a.feed.SetPrincipal(ctx, who) })
		})
	}
	if sync && !slices.Equal(old.Subscriptions, got.Subscriptions) {
		e.work.Spawn(func() { e.sync(e.life, s, a, true) })
	}
	return rec
}

// put stores a session whose record the store has just returned. payer is charged if the session
// has no payer yet; nil charges its principal.
func (e *Era) put(got *state.Session, payer *budget.Holder) *localSession {
	s := e.keep(got.ID)
	if payer != nil {
		s.payer.CompareAndSwap(nil, payer)
	}
	e.install(s, got, true)
	s.fresh.Store(time.Now().UnixNano())
	return s
}

// update changes the record and installs the result. A caller that changes subscriptions must
// update those of the stream itself.
func (e *Era) update(ctx context.Context, s *localSession, p state.Patch) (*record, *mcp.Error) {
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	if rec := s.rec.Load(); rec != nil {
		p.From = rec.Session
	}
	got, err := e.store.Update(sctx, s.id, p)
	if err != nil {
		return nil, e.storeError(s, err)
	}
	return e.install(s, got, p.Subscribe == "" && p.Unsubscribe == ""), nil
}

// localSessions are the sessions held here, by id. The zero value is empty. It is safe for
// concurrent use.
type localSessions struct{ byID sync.Map }

// get returns the held session, or nil.
func (h *localSessions) get(id string) *localSession {
	v, _ := h.byID.Load(id)
	s, _ := v.(*localSession)
	return s
}

// remove removes s, unless another copy has replaced it.
func (h *localSessions) remove(s *localSession) {
	if h.byID.CompareAndDelete(s.id, s) {
		s.forget()
	}
}

// all yields the held sessions.
func (h *localSessions) all(yield func(*localSession) bool) {
	h.byID.Range(func(_, v any) bool { return yield(v.(*localSession)) })
}
