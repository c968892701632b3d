package model

import (
	"context"
	"slices"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Commit implements medium.Calls.
func (r *Replica) Commit(ctx context.Context, w *medium.Write) error {
	m := r.m
	err := m.op(ctx)
	defer m.mu.Unlock()
	switch {
	case err != nil:
		return err
	case m.sessions[w.Session] == nil:
		return state.ErrNotFound
	}
	begun, err := r.begin(w)
	if err != nil {
		return err
	}
	var log *storedLog
	if len(begun) > 1 {
		log = &storedLog{last: medium.Position{Epoch: m.epoch(w.Begin[0].Epoch)}}
		for _, b := range w.Begin {
			log.calls = append(log.calls, b.ID)
		}
	}
	if w.Call != "" {
		c := begun[w.Call]
		if c == nil {
			c = m.calls[w.Call]
		}
		next, err := r.step(w, c)
		if err != nil {
			return err
		}
		if next != nil {
			begun[w.Call] = next
			if l := m.logs[placeOf(&next.rec)]; l != nil {
				log = l.with(next, w.Placed())
			}
		}
	}
	if len(begun) > 0 {
		m.put(begun, log)
	}
	return nil
}

// with returns the log with entries of a call, at the places that follow, and notes in the call the
// last as its writer placed it.
func (l *storedLog) with(c *storedCall, entries []medium.Entry) *storedLog {
	next := *l
	next.entries = slices.Clip(next.entries)
	for _, e := range entries {
		next.last.Seq++
		c.logged, e.Epoch, e.Seq = e.Position(), next.last.Epoch, next.last.Seq
		next.entries = append(next.entries, e)
	}
	return &next
}

// begin makes the calls that a write begins, by their ids; none if they exist. The caller holds
// m.mu.
func (r *Replica) begin(w *medium.Write) (map[string]*storedCall, error) {
	m, out, there := r.m, map[string]*storedCall{}, 0
	for _, b := range w.Begin {
		if c := m.calls[b.ID]; c != nil {
			if there++; c.rec.Epoch != m.epoch(b.Epoch) || c.owner != r || w.Call == "" && (c.rec.N > 0 || !c.held) {
				return nil, state.ErrExists
			}
			continue
		}
		c := &storedCall{rec: *b, owner: r, held: true, claimed: m.Now()}
		c.rec.Epoch = m.epoch(b.Epoch)
		out[b.ID] = c
	}
	taken := false
	for _, c := range m.calls {
		taken = taken || c.rec.Session == w.Session && c.rec.Stream == w.Stream
	}
	if there > 0 && there < len(w.Begin) || there == 0 && (len(out) < len(w.Begin) || len(out) > 0 && taken) {
		return nil, state.ErrExists
	}
	// Calls of a batch that were restored in another order are not those of an earlier attempt.
	l := m.logs[place{w.Session, w.Stream}]
	if there > 0 && l != nil && !slices.EqualFunc(w.Begin, l.calls, func(b *medium.Record, id string) bool { return b.ID == id }) {
		return nil, state.ErrExists
	}
	return out, nil
}

// step returns a call after a step, or nil if the step was made before. The caller holds m.mu.
func (r *Replica) step(w *medium.Write, c *storedCall) (*storedCall, error) {
	m := r.m
	switch {
	case c == nil:
		return nil, &medium.RewoundError{}
	case w.Epoch > c.rec.Epoch:
		return nil, &medium.RewoundError{Epoch: c.rec.Epoch, N: c.rec.N}
	case m.bug(EndsTwice) && c.rec.Phase == state.PhaseDone && w.Next == medium.NextDone && w.Epoch != c.rec.Epoch:
	case w.Epoch != c.rec.Epoch && !m.bug(Unfenced), c.owner != r && !m.bug(Unfenced):
		return nil, state.ErrFenced
	case w.N <= c.rec.N && !m.bug(RepeatedWrites):
		return nil, nil
	case c.rec.Phase == state.PhaseDone, !c.held && !m.bug(Unfenced):
		return nil, state.ErrFenced
	case w.After > c.rec.N && !m.bug(SkippedWrites), len(w.Entries) > 0 && len(c.log) > 0 && w.Seq <= c.log[len(c.log)-1].Seq && !m.bug(RepeatedWrites):
		return nil, &medium.RewoundError{Epoch: c.rec.Epoch, N: c.rec.N}
	}
	for i, a := range w.Asks {
		o, at := m.pending(w.Session, a.ID)
		if o != nil && o.rec.Phase == state.PhaseWaiting && o.rec.Asked[at].Answer == nil && o.rec.ID != w.Call ||
			slices.ContainsFunc(w.Asks[:i], func(b state.Ask) bool { return b.ID == a.ID }) {
			return nil, state.ErrExists
		}
	}
	if m.Refuse != nil {
		if err := m.Refuse(w); err != nil {
			return nil, err
		}
	}
	n := *c
	n.rec.Apply(w)
	if n.rec.Batch == 0 {
		n.log = append(slices.Clip(n.log), w.Placed()...)
	}
	n.held = w.Next != medium.NextWaiting && w.Next != medium.NextDone
	return &n, nil
}

// pending finds the call that asks a question, or else one that has asked it. The caller holds
// m.mu.
func (m *Medium) pending(session, ask string) (found *storedCall, at int) {
	for _, id := range m.ids {
		c := m.calls[id]
		if c == nil || c.rec.Session != session {
			continue
		}
		i := slices.IndexFunc(c.rec.Asked, func(q medium.Question) bool { return q.ID == ask })
		if i >= 0 && (found == nil || c.rec.Phase == state.PhaseWaiting && c.rec.Asked[i].Answer == nil) {
			found, at = c, i
		}
	}
	return found, at
}

// Answer implements medium.Calls.
func (r *Replica) Answer(ctx context.Context, session, ask string, a state.Answer, random uint32) (state.AnswerStatus, *medium.Owned, error) {
	m := r.m
	err := m.op(ctx)
	defer m.mu.Unlock()
	switch {
	case err != nil:
		return 0, nil, err
	case m.sessions[session] == nil:
		return 0, nil, state.ErrNotFound
	}
	c, i := m.pending(session, ask)
	switch {
	case c == nil:
		return state.AnswerUnknown, nil, nil
	case c.rec.Asked[i].Answer != nil && !m.bug(LastAnswerCounts):
		switch {
		case c.rec.Asked[i].Answer.Token != a.Token:
			return state.AnswerDuplicate, nil, nil
		case c.is(r, random):
			return state.AnswerCompleted, m.owned(c), nil
		}
		return state.AnswerTaken, m.owned(c), nil
	case c.rec.Phase != state.PhaseWaiting, c.held:
		return state.AnswerUnknown, nil, nil
	}
	n := *c
	if m.bug(LastAnswerCounts) && n.rec.Asked[i].Answer != nil {
		n.rec.Asked = slices.Clone(n.rec.Asked)
		n.rec.Asked[i].Answer = nil
	}
	n.rec.Answered(ask, a)
	out := state.AnswerTaken
	if n.rec.Missing() == 0 || m.bug(AnyAnswerCompletes) {
		out = state.AnswerCompleted
		if m.bug(AnyAnswerCompletes) {
			n.rec.Phase, n.rec.Round = state.PhaseReady, n.rec.Round+1
		}
		n.own(r, random, false, false, "")
	}
	m.put(map[string]*storedCall{n.rec.ID: &n}, m.claimedLog(&n))
	return out, m.owned(&n), nil
}

// Asking implements medium.Calls.
func (r *Replica) Asking(ctx context.Context, session, ask string) (*medium.Record, error) {
	m := r.m
	err := m.op(ctx)
	defer m.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case m.sessions[session] == nil:
		return nil, state.ErrNotFound
	}
	c, i := m.pending(session, ask)
	if c == nil || c.rec.Asked[i].Answer != nil || c.rec.Phase != state.PhaseWaiting || c.held {
		return nil, nil
	}
	return m.owned(c).Record, nil
}

// is reports whether a replica owns the call by a claim with these random bits, and nothing was
// written since.
func (c *storedCall) is(r *Replica, random uint32) bool {
	return c.held && c.owner == r && c.rec.Epoch.Random() == r.m.random(random) && c.rec.N == 0
}

func (c *storedCall) own(r *Replica, random uint32, lapsed, cancel bool, by string) {
	c.rec.Claim(r.m.random(random), lapsed, cancel, by)
	c.owner, c.held, c.claimed = r, true, r.m.Now()
}

func (m *Medium) owned(c *storedCall) *medium.Owned {
	rec := c.rec
	return &medium.Owned{Record: &rec, Session: m.sessions[rec.Session]}
}

func (m *Medium) random(bits uint32) uint32 {
	if m.bug(EpochsCount) {
		return 0
	}
	return bits
}

func (m *Medium) epoch(e medium.Epoch) medium.Epoch {
	return medium.EpochOf(e.Counter(), m.random(e.Random()))
}

// Claim implements medium.Calls.
func (r *Replica) Claim(ctx context.Context, w medium.ClaimTarget) (*medium.Owned, error) {
	m := r.m
	err := m.op(ctx)
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c := m.find(w)
	switch {
	case c == nil || m.sessions[w.Session] == nil || w.Misses(c.rec.Deadline):
		return nil, state.ErrNotFound
	case c.rec.Phase == state.PhaseDone:
		return nil, state.ErrFenced
	case c.is(r, w.Random):
		return m.owned(c), nil
	case w.Epoch != 0 && w.Epoch != c.rec.Epoch:
		return nil, state.ErrFenced
	case w.Epoch != 0 && !c.held && c.rec.Phase == state.PhaseWaiting && c.rec.Missing() > 0 && !m.late(c):
		return nil, state.ErrFenced
	}
	n := *c
	n.own(r, w.Random, w.Lapsed && c.held, w.Cancel, w.CancelledBy)
	m.put(map[string]*storedCall{n.rec.ID: &n}, m.claimedLog(&n))
	return m.owned(&n), nil
}

// claimedLog returns the log of the batch of a call that was just claimed, with another epoch; nil if there is
// no claim, or no batch. The caller holds m.mu.
func (m *Medium) claimedLog(c *storedCall) *storedLog {
	l := m.logs[placeOf(&c.rec)]
	if l == nil || !c.held {
		return nil
	}
	next := *l
	if m.bug(BatchPlacesAgain) {
		next.last.Seq = max(next.last.Seq, 1) - 1
		return &next
	}
	next.last.Epoch = next.last.Epoch.Next(c.rec.Epoch.Random())
	return &next
}

func (m *Medium) late(c *storedCall) bool {
	return !c.rec.Deadline.IsZero() && m.Now().After(c.rec.Deadline)
}

// find finds a call of a session; of several with one request id, the youngest.
func (m *Medium) find(w medium.ClaimTarget) (found *storedCall) {
	for _, id := range m.ids {
		c := m.calls[id]
		if c != nil && c.rec.Session == w.Session && (w.RequestID == "" && id == w.Call || w.RequestID != "" && c.rec.RequestID == w.RequestID) {
			found = c
		}
	}
	return found
}

// Restore implements medium.Calls.
func (r *Replica) Restore(ctx context.Context, rec *medium.Record, entries []medium.Entry, runs bool) (medium.Verdict, error) {
	m := r.m
	err := m.op(ctx)
	defer m.mu.Unlock()
	switch {
	case err != nil:
		return 0, err
	case m.sessions[rec.Session] == nil:
		return 0, state.ErrNotFound
	}
	c, n := m.calls[rec.ID], storedCall{}
	if c != nil {
		n = *c
	}
	verdict := n.rec.Merge(rec, c != nil)
	if c != nil && (m.bug(RestoreOverrides) || m.bug(RunningBeatsDone) && c.rec.Phase == state.PhaseDone && rec.Phase != state.PhaseDone && rec.Epoch != c.rec.Epoch) {
		n.rec, verdict = *rec, medium.Restored
	}
	var log *storedLog
	if rec.Batch > 0 {
		var err error
		if log, err = m.mended(&n, rec, entries, verdict, c != nil); err != nil {
			return 0, err
		}
	} else {
		n.log = m.merged(n.log, rec, entries, &n.rec, verdict)
	}
	if verdict == medium.Restored && n.rec.Epoch == rec.Epoch {
		n.owner, n.held = r, runs && n.rec.Phase != state.PhaseWaiting && n.rec.Phase != state.PhaseDone
		n.claimed = m.Now()
	}
	released := n.held && n.owner == r && n.rec.Epoch == rec.Epoch && !runs
	if released {
		n.held = false // The replica does not run it: any replica may claim it.
	}
	if c == nil || verdict == medium.Restored || released || log != nil || len(n.log) != len(c.log) {
		m.put(map[string]*storedCall{rec.ID: &n}, log)
	}
	return verdict, nil
}

// mended returns the log of a batch with the entries that it lacks of a call, or nil if it has them
// all. Readers of what was lost must not take new entries for those: the log has a new epoch.
func (m *Medium) mended(n *storedCall, rec *medium.Record, entries []medium.Entry, v medium.Verdict, known bool) (*storedLog, error) {
	l := m.logs[placeOf(rec)]
	switch {
	case l == nil:
		l = new(storedLog)
	case !known && len(l.calls) >= rec.Batch:
		return nil, state.ErrExists
	}
	has := n.logged
	if m.bug(RestoreRepeats) {
		has = medium.Position{}
	}
	lost := medium.MissingEntries(has, &n.rec, rec, entries)
	if v != medium.Restored && len(lost) == 0 {
		return nil, nil
	}
	next := *l
	if !known {
		next.calls = append(slices.Clip(next.calls), rec.ID)
	}
	next.last.Epoch = max(next.last.Epoch, n.rec.Epoch).Next(m.random(m.Random()))
	return next.with(n, lost), nil
}

func (m *Medium) merged(log []medium.Entry, from *medium.Record, entries []medium.Entry, now *medium.Record, v medium.Verdict) []medium.Entry {
	switch {
	case m.bug(RestoreForgetsLog):
		return log
	case m.bug(RestoreRenumbers) && v == medium.Restored:
		for _, e := range entries {
			last := uint64(0)
			if n := len(log); n > 0 {
				last = log[n-1].Seq
			}
			if e.Seq > last {
				e.Seq = last + 1
				log = append(slices.Clip(log), e)
			}
		}
		return log
	}
	return medium.MergeLog(log, from, entries, now)
}
