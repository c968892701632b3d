package stateful

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
)

// record is a session as loaded, with what is derived from it. Never changed.
type record struct {
	*state.Session
	rules  *revision.Rules
	client mcp.Client
}

func newRecord(s *state.Session) *record {
	r := &record{Session: s, rules: revision.Negotiate(s.Version)}
	// initialize has refused capabilities that cannot be read.
	caps, _ := mcp.ParseCapabilities(s.Capabilities)
	r.client = mcp.Client{Info: s.ClientInfo, Capabilities: caps}
	return r
}

// held is this replica's copy of a session, and what goes on here on its behalf.
type held struct {
	id  string
	rec atomic.Pointer[record]
	// fresh is when the record was last known to be true, in Unix nanoseconds.
	fresh atomic.Int64
	used  atomic.Bool

	// Loads are numbered: who asks for one is content with any that began later.
	loading sync.Mutex
	asked   atomic.Uint64
	loaded  uint64 // guarded by loading

	mu         sync.Mutex
	ended      error // errGone, errEvicted, errClosed: nothing may begin any more
	running    map[string]*run
	writing    map[string]int     // calls that run here and write to a stream
	readers    map[string]*reader // the newest follower of each stream
	standalone *attachment

	lastUsed time.Time // the revalidation loop's own
}

func newHeld(id string) *held {
	return &held{id: id, running: map[string]*run{}, lastUsed: time.Now()}
}

// hold finds the session of an incoming message and checks whose it is.
func (e *Era) hold(ctx context.Context, in *mcp.Incoming) (*held, *record, *mcp.Error) {
	if in.Session == "" {
		return nil, nil, mcp.Errorf(mcp.KindSessionRequired,
			"the session id is missing; send initialize first, then its session id with every message")
	}
	if len(in.Session) > maxSessionID {
		return nil, nil, sessionNotFound()
	}
	s, err := e.session(ctx, in.Session)
	if err != nil {
		return nil, nil, stateError(err)
	}
	rec := s.rec.Load()
	if !samePrincipal(rec.Principal, in.Principal) {
		return nil, nil, sessionNotFound()
	}
	return s, rec, nil
}

// samePrincipal compares keys without building them.
func samePrincipal(a, b mcp.Principal) bool {
	return a.Subject == b.Subject && (a.Subject == "" || a.Issuer == b.Issuer)
}

// session returns the held copy, loading it when there is none or it is stale.
func (e *Era) session(ctx context.Context, id string) (*held, error) {
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
func (e *Era) keep(id string) *held {
	for {
		s := e.held.get(id)
		if s == nil {
			s = e.held.getOrPut(id, func() *held { return newHeld(id) })
		}
		s.used.Store(true)
		if !s.evicted() {
			return s
		}
		e.held.remove(s)
	}
}

func (s *held) evicted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Is(s.ended, errEvicted)
}

// refresh loads the record anew. A session that is not there any more is dropped.
func (e *Era) refresh(ctx context.Context, s *held) error {
	ticket := s.asked.Add(1)
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loaded >= ticket {
		return nil
	}
	serves := s.asked.Load()
	began := time.Now().UnixNano()
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	got, err := e.store.Load(sctx, s.id)
	if err != nil {
		if errors.Is(err, state.ErrNotFound) {
			e.drop(s, errGone)
		} else {
			e.counters.StateErrors.Add(1)
			if s.rec.Load() == nil {
				e.held.remove(s)
			}
		}
		return fmt.Errorf("loading session: %w", err)
	}
	s.loaded = serves
	s.fresh.Store(began)
	e.install(s, got)
	return nil
}

// install makes a record the copy, unless a newer one is. It ends a standalone stream that was
// superseded, and brings the subscriptions of one that was not up to date in the background. The
// caller is inside the work gate.
func (e *Era) install(s *held, got *state.Session) {
	rec := newRecord(got)
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.rec.Load()
	if old != nil && old.Serial >= got.Serial {
		return
	}
	s.rec.Store(rec)
	a := s.standalone
	switch {
	case a == nil:
	case got.Attachment > a.number:
		a.cancel(errSuperseded)
	case !slices.Equal(old.Subscriptions, got.Subscriptions):
		e.spawnSync(s, a)
	}
}

// put holds a session whose record the store has just given.
func (e *Era) put(got *state.Session) *held {
	s := e.keep(got.ID)
	e.install(s, got)
	s.fresh.Store(time.Now().UnixNano())
	return s
}

// update changes the record and installs what it became.
func (e *Era) update(ctx context.Context, s *held, p state.Patch) (*record, *mcp.Error) {
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	got, err := e.store.Update(sctx, s.id, p)
	if err != nil {
		return nil, e.lost(s, err)
	}
	e.install(s, got)
	return newRecord(got), nil
}

// drop forgets a session and ends what goes on here on its behalf.
func (e *Era) drop(s *held, cause error) {
	e.held.remove(s)
	s.end(cause)
}

func (s *held) end(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = cause
	}
	for _, r := range s.running {
		r.cancel(cause)
	}
	for _, r := range s.readers {
		r.cancel(cause)
	}
	if s.standalone != nil {
		s.standalone.cancel(cause)
	}
}

// begin registers a call under its request id.
func (e *Era) begin(s *held, r *run, takeOver bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return s.ended
	}
	if e.closed.Load() {
		return errClosed
	}
	key := r.id.Raw()
	if !takeOver {
		if _, dup := s.running[key]; dup {
			return mcp.Errorf(mcp.KindInvalidRequest, "the request id %.40s is in use by a request that still runs; use a new one", key)
		}
		if len(s.running) >= e.o.MaxCallsPerSession {
			return mcp.Errorf(mcp.KindLimit, "%d requests of this session are running; wait for some to end", len(s.running))
		}
	}
	s.running[key] = r
	return nil
}

// finished unregisters a run that has ended. While somebody here follows the stream of a parked call
// its request id stays taken.
func (s *held) finished(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	followed := r.parked && (s.readers[r.stream] != nil || r.group != nil && !r.group.over)
	if s.running[r.id.Raw()] == r && !followed {
		delete(s.running, r.id.Raw())
	}
}

// park marks a call as nobody's. From then on it is cancelled by its record.
func (s *held) park(r *run) {
	s.mu.Lock()
	r.parked = true
	s.mu.Unlock()
}

// unfollowed gives the request ids of a stream's parked calls free. s.mu is locked.
func (s *held) unfollowed(stream string) {
	for id, r := range s.running {
		if r.parked && r.stream == stream {
			delete(s.running, id)
		}
	}
}

// writes counts the calls here that write to a stream up or down.
func (s *held) writes(stream string, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing == nil {
		s.writing = map[string]int{}
	}
	if s.writing[stream] += by; s.writing[stream] <= 0 {
		delete(s.writing, stream)
	}
}

func (s *held) writtenHere(stream string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writing[stream] > 0
}

// evict gives up an unused copy; false when it came into use.
func (e *Era) evict(s *held) bool {
	s.mu.Lock()
	busy := len(s.running) > 0 || len(s.readers) > 0 || s.standalone != nil || s.used.Load()
	if !busy && s.ended == nil {
		s.ended = errEvicted
	}
	s.mu.Unlock()
	if !busy {
		e.held.remove(s)
	}
	return !busy
}

func (s *held) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) > 0 || len(s.readers) > 0 || s.standalone != nil
}

// bell handles what another replica tells. It returns when the news has taken effect here.
func (e *Era) bell(b state.Bell) {
	s := e.held.get(b.Session)
	if s == nil || !e.work.enter() {
		return
	}
	defer e.work.leave()
	switch b.Kind {
	case state.BellChanged:
		if err := e.refresh(e.life, s); err != nil {
			e.log.Warn("a changed session could not be loaded; it is tried again", "error", err)
		}
	case state.BellDeleted:
		e.drop(s, errGone)
	case state.BellCancelled:
		s.cancelRequest(b.RequestID)
	case state.BellRoots:
		// Roots are asked for whenever a backend wants them: there is no copy to drop.
	}
}

// ring tells the other holders. A bell that was not heard costs them a second, no more.
func (e *Era) ring(ctx context.Context, b state.Bell) {
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	if err := e.store.Ring(sctx, b); err != nil {
		e.counters.StateErrors.Add(1)
		e.log.Debug("a bell could not be rung", "error", err)
	}
}
