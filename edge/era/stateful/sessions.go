package stateful

import (
	"context"
	"errors"
	"fmt"
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

// record is a session as loaded, with what is derived from it. Never changed.
type record struct {
	*state.Session
	rules  *revision.Rules
	client mcp.Client
	// print and clientName are what telemetry is told of the session.
	print, clientName string
}

func (e *Era) newRecord(s *state.Session) *record {
	r := &record{Session: s, rules: revision.Negotiate(s.Version)}
	if t := e.o.Telemetry; t != nil {
		r.print, r.clientName = telemetry.SessionPrint(s.ID), t.ClientName(s.ClientInfo)
	}
	// initialize has refused capabilities that cannot be read.
	caps, _ := mcp.ParseCapabilities(s.Capabilities)
	r.client = mcp.Client{Info: s.ClientInfo, Capabilities: caps}
	return r
}

// localSession is this replica's copy of a session, and what goes on here on its behalf.
type localSession struct {
	id  string
	rec atomic.Pointer[record]
	// fresh is when the record was last known to be true, in Unix nanoseconds.
	fresh atomic.Int64
	// until is until when the credentials of requests here are good, the latest of them, in Unix nanoseconds; 0: no
	// request came yet.
	until atomic.Int64
	// caller is who made a request here by other credentials than the record has, until it is noted there; nil: nobody.
	caller atomic.Pointer[mcp.Principal]
	// used: something came for the session, or began in it, since it was last looked at.
	used atomic.Bool
	// pipe: its messages come over a pipe.
	pipe atomic.Bool
	// payer is who is charged for what goes on here; nil: not known, nobody has come yet.
	payer atomic.Pointer[budget.Holder]

	// Loads are numbered: who asks for one is content with any that began later.
	loading sync.Mutex
	asked   atomic.Uint64
	loaded  uint64 // guarded by loading, as the last one's error
	loadErr error

	mu         sync.Mutex
	ended      error                 // errGone, errEvicted, errClosed: nothing may begin any more
	running    map[string]*execution // by their request ids
	readers    map[string]*reader    // the newest follower of each stream
	standalone *attachment
	spares     []*spare // the newest last
	unattached bool     // the attached stream ended while there was no spare one here
	memory     budget.Reservation
	forgotten  bool // what was charged was released, and nothing more is

	// The revalidation loop's own. working: calls of the session ran or were followed when it was last looked at.
	working               bool
	lastUsed, lastTouched time.Time
}

func newLocalSession(id string) *localSession {
	return &localSession{id: id, running: map[string]*execution{}, lastUsed: time.Now()}
}

// hold finds the session of an incoming message and checks whose it is.
func (e *Era) hold(ctx context.Context, in *mcp.Incoming) (*localSession, *record, *mcp.Error) {
	if in.Session == "" {
		return nil, nil, sessionRequired(in)
	}
	if len(in.Session) > maxSessionID {
		return nil, nil, sessionNotFound()
	}
	s, err := e.session(ctx, in.Session)
	if err != nil {
		return nil, nil, stateError(err)
	}
	if in.Header == nil {
		s.pipe.Store(true)
	}
	rec := s.rec.Load()
	if !rec.Principal.Is(&in.Principal) {
		if err := e.o.Telemetry.Foreign(ctx, in, in.Session); err != nil {
			return nil, nil, mcp.AsError(err)
		}
		return nil, nil, sessionNotFound()
	}
	if s.payer.Load() == nil {
		s.payer.Store(in.Memory.Holder())
	}
	if !rec.Principal.Until.IsZero() {
		s.renew(in.Principal.Until)
	}
	if in.Principal.Subject != "" {
		s.cameWith(rec, &in.Principal)
	}
	return s, rec, nil
}

// session returns the held copy, loading it when there is none or it is stale.
func (e *Era) session(ctx context.Context, id string) (*localSession, error) {
	s := e.keep(id)
	if s.rec.Load() != nil && time.Now().UnixNano()-s.fresh.Load() <= int64(e.o.SessionStale) {
		return s, nil
	}
	if err := e.refresh(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// keep returns the copy of a session, empty if it is new, marked as used: it is not evicted for a
// good while.
func (e *Era) keep(id string) *localSession {
	for {
		s := e.sessions.get(id)
		if s == nil {
			s = e.sessions.getOrPut(id, newLocalSession(id))
		}
		s.used.Store(true)
		if !s.evicted() {
			return s
		}
		e.sessions.remove(s)
	}
}

func (s *localSession) evicted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Is(s.ended, errEvicted)
}

// refresh loads the record anew. A session that is not there any more is dropped.
func (e *Era) refresh(ctx context.Context, s *localSession) error {
	ticket := s.asked.Add(1)
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loaded >= ticket {
		return s.loadErr
	}
	s.loaded = s.asked.Load()
	s.loadErr = e.reload(ctx, s)
	return s.loadErr
}

func (e *Era) reload(ctx context.Context, s *localSession) error {
	began := time.Now().UnixNano()
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	got, err := e.store.Load(sctx, s.id, true)
	if err != nil {
		if errors.Is(err, state.ErrNotFound) {
			e.drop(s, errGone)
		} else {
			e.counters.StateErrors.Add(1)
			if s.rec.Load() == nil {
				e.sessions.remove(s)
			}
		}
		return fmt.Errorf("loading session: %w", err)
	}
	s.fresh.Store(began)
	e.install(s, got.Session, true)
	return nil
}

// install makes a record the copy, unless a newer one is. It makes a standalone stream that was
// superseded spare and, with sync, brings the subscriptions of one that was not up to date in the background.
// The caller is counted by work.
func (e *Era) install(s *localSession, got *state.Session, sync bool) {
	rec := e.newRecord(got)
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.rec.Load()
	if old != nil && old.Serial >= got.Serial {
		return
	}
	s.rec.Store(rec)
	s.chargeCopy(e, rec)
	a := s.standalone
	switch {
	case a == nil:
	case got.Attachment > a.number:
		a.cancel(errSuperseded)
	default:
		a.tasks.tell(got.Tasks, false)
	}
	switch {
	case a == nil || got.Attachment > a.number:
	case !got.Principal.SameRights(a.principal.Load()):
		who := got.Principal
		a.principal.Store(&who)
		e.work.Spawn(func() { e.become(a, who) })
	}
	switch {
	case a == nil || got.Attachment > a.number:
	case sync && !slices.Equal(old.Subscriptions, got.Subscriptions):
		e.spawnSync(s, a)
	}
}

// put holds a session whose record the store has just given. payer is who is charged, if that is not known yet; nil:
// its principal.
func (e *Era) put(got *state.Session, payer *budget.Holder) *localSession {
	s := e.keep(got.ID)
	if payer != nil {
		s.payer.CompareAndSwap(nil, payer)
	}
	e.install(s, got, true)
	s.fresh.Store(time.Now().UnixNano())
	return s
}

// update changes the record and installs what it became. Who changes subscriptions brings the stream's
// up to date.
func (e *Era) update(ctx context.Context, s *localSession, p state.Patch) (*record, *mcp.Error) {
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	if rec := s.rec.Load(); rec != nil {
		p.From = rec.Session
	}
	got, err := e.store.Update(sctx, s.id, p)
	if err != nil {
		return nil, e.lost(s, err)
	}
	e.install(s, got, p.Subscribe == "" && p.Unsubscribe == "")
	return e.newRecord(got), nil
}
