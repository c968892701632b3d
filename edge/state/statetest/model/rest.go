package model

import (
	"context"
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Read implements medium.Logs.
func (r *Replica) Read(ctx context.Context, session, stream string, after medium.Position, most int) (medium.Page, error) {
	m := r.m
	err := m.op(ctx)
	defer m.mu.Unlock()
	if err != nil {
		return medium.Page{}, err
	}
	log, last, calls := m.logOf(place{session, stream})
	if len(calls) == 0 || m.sessions[session] == nil {
		return medium.Page{}, state.ErrNotFound
	}
	p := medium.PageOf(log, last, calls, after)
	p.Trace = calls[0].Trace
	p.Ended = p.Ended || m.bug(EndsWithFirst) && slices.ContainsFunc(calls, func(r *medium.Record) bool { return r.Phase == state.PhaseDone })
	if most > 0 && len(p.Entries) > most && !p.Ahead {
		p.Entries, p.More, p.Ended = p.Entries[:most], true, false
	}
	return p, nil
}

// logOf returns a log, the place of its last entry, and the records of its calls, of which there are
// none if there is no such log. The caller holds m.mu.
func (m *Medium) logOf(at place) ([]medium.Entry, medium.Position, []*medium.Record) {
	if l := m.logs[at]; l != nil {
		records := make([]*medium.Record, len(l.calls))
		for i, id := range l.calls {
			records[i] = &m.calls[id].rec
		}
		return l.entries, l.last, records
	}
	for _, id := range m.ids {
		if c := m.calls[id]; c != nil && placeOf(&c.rec) == at {
			return c.log, medium.LastOf(c.log, &c.rec), []*medium.Record{&c.rec}
		}
	}
	return nil, medium.Position{}, nil
}

// Summaries implements medium.Logs.
func (r *Replica) Summaries(ctx context.Context, sessions []string, stream string) ([]*medium.Summary, error) {
	m := r.m
	err := m.op(ctx)
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out := make([]*medium.Summary, len(sessions))
	for i, session := range sessions {
		for _, id := range m.ids {
			c := m.calls[id]
			if c == nil || c.rec.Session != session || c.rec.Stream != stream || m.sessions[session] == nil {
				continue
			}
			g := &medium.Summary{Session: m.sessions[session], Brief: c.rec.Brief, Ended: c.rec.Phase == state.PhaseDone}
			for j := range c.rec.Asked {
				if q := &c.rec.Asked[j]; c.rec.Phase == state.PhaseWaiting && q.Answer == nil {
					g.Waits = append(g.Waits, q.ID)
				}
			}
			out[i] = g
			break
		}
	}
	return out, nil
}

// Follow implements medium.Logs.
func (r *Replica) Follow(session, stream string, wake func()) (stop func()) {
	f := &follower{of: place{session, stream}, wake: wake}
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.followers = append(r.followers, f)
	return func() {
		r.m.mu.Lock()
		defer r.m.mu.Unlock()
		r.followers = slices.DeleteFunc(r.followers, func(o *follower) bool { return o == f })
	}
}

// Beat implements medium.Replicas.
func (r *Replica) Beat(ctx context.Context, most int, leaving bool) (out []medium.ClaimTarget, _ error) {
	m := r.m
	err := m.op(ctx)
	defer m.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case leaving:
		r.left = true
		return nil, nil
	case r.left:
		return nil, state.ErrFenced
	}
	r.beat = m.Now()
	for _, id := range m.ids {
		if c := m.calls[id]; c != nil && len(out) < most && m.orphan(c) {
			out = append(out, medium.ClaimTarget{
				Session: c.rec.Session, Call: id, Epoch: c.rec.Epoch, Lapsed: c.held && m.lost(c.owner) && !c.owner.left,
			})
		}
	}
	return out, nil
}

func (m *Medium) orphan(c *storedCall) bool {
	waits := c.rec.Phase == state.PhaseWaiting
	switch {
	case c.rec.Phase == state.PhaseDone:
		return false
	case m.late(c):
		return true
	case !c.held:
		return !waits || c.rec.Missing() == 0
	}
	unwritten := c.rec.Epoch.Counter() > 1 && c.rec.N == 0 && m.Now().Sub(c.claimed) > m.Limits.ClaimLife()
	return m.lost(c.owner) || unwritten
}

// Notify implements medium.Replicas: every other replica holds every session.
func (r *Replica) Notify(ctx context.Context, b state.SessionEvent) error {
	err := r.m.op(ctx)
	others := slices.DeleteFunc(slices.Clone(r.m.replicas), func(o *Replica) bool { return o == r || o.left || o.hooks.Event == nil })
	r.m.mu.Unlock()
	if err != nil {
		return err
	}
	for _, o := range others {
		o.hooks.Event(b)
	}
	return nil
}

// Create implements medium.Sessions.
func (r *Replica) Create(ctx context.Context, s *state.Session) error {
	err := r.m.op(ctx)
	defer r.m.mu.Unlock()
	switch {
	case err != nil:
		return err
	case r.m.sessions[s.ID] != nil:
		return state.ErrExists
	}
	own := *s
	r.m.sessions[s.ID] = &own
	if r.m.LosesSessions {
		r.m.undo = append(r.m.undo, written{created: s.ID})
	}
	return nil
}

// Load implements medium.Sessions.
func (r *Replica) Load(ctx context.Context, id string, use bool) (*state.SessionInfo, error) {
	err := r.m.op(ctx)
	defer r.m.mu.Unlock()
	s := r.m.sessions[id]
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return nil, state.ErrNotFound
	}
	out := &state.SessionInfo{Session: s}
	for _, c := range r.m.calls {
		if use && c.rec.Session == id && c.rec.Phase != state.PhaseDone && !slices.Contains(out.Requests, c.rec.RequestID) {
			out.Requests = append(out.Requests, c.rec.RequestID)
		}
	}
	return out, nil
}

// Update implements medium.Sessions.
func (r *Replica) Update(ctx context.Context, id string, p state.Patch) (*state.Session, error) {
	err := r.m.op(ctx)
	defer r.m.mu.Unlock()
	s := r.m.sessions[id]
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return nil, state.ErrNotFound
	}
	next, changed, err := s.With(p, r.m.Limits.Subscriptions)
	if err != nil || !changed {
		return s, err
	}
	next.Serial++
	r.m.sessions[id] = next
	return next, nil
}

// Touch implements medium.Sessions.
func (r *Replica) Touch(ctx context.Context, ids []string, _ bool) (map[string]uint64, error) {
	err := r.m.op(ctx)
	defer r.m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out := map[string]uint64{}
	for _, id := range ids {
		if s := r.m.sessions[id]; s != nil {
			out[id] = s.Serial
		}
	}
	return out, nil
}

// Delete implements medium.Sessions.
func (r *Replica) Delete(ctx context.Context, id string) error {
	err := r.m.op(ctx)
	defer r.m.mu.Unlock()
	switch {
	case err != nil:
		return err
	case r.m.sessions[id] == nil:
		return state.ErrNotFound
	}
	before := written{session: r.m.sessions[id], calls: map[string]*storedCall{}, logs: map[place]*storedLog{}}
	r.m.drop(id, &before)
	r.m.undo = append(r.m.undo, before)
	return nil
}

// List implements medium.Replicas: all sessions are on the first page.
func (r *Replica) List(ctx context.Context, cursor string, most int) (page []*state.SessionInfo, next string, err error) {
	err = r.m.op(ctx)
	defer r.m.mu.Unlock()
	if err != nil || cursor != "" {
		return nil, "", err
	}
	for _, id := range slices.Sorted(maps.Keys(r.m.sessions)) { // a history is repeatable
		page = append(page, &state.SessionInfo{Session: r.m.sessions[id]})
	}
	return page[:min(len(page), most)], "", nil
}

// Of implements medium.Replicas.
func (r *Replica) Of(ctx context.Context, owner mcp.Principal) (ids []string, err error) {
	err = r.m.op(ctx)
	defer r.m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for id, s := range r.m.sessions {
		if s.Principal.Key() == owner.Key() {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
