package memory

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Accounts count the sizes of each caller's sessions, for Limits.PrincipalBytes, over all media
// that share them (WithAccounts). They are safe for concurrent use. The zero value is empty.
type Accounts struct{ shards shards[*account] }

// account counts the size of one caller's sessions.
type account struct {
	key string
	// bytes is the sum over all its sessions.
	bytes atomic.Int64
	// looked is when expired sessions were last looked for, since the medium's start.
	looked atomic.Int64
	// sessions is their number, guarded by the shard's mu.
	sessions int
}

// WithAccounts shares the accounts of callers with other media.
func WithAccounts(a *Accounts) Option { return func(m *Medium) { m.accounts = a } }

// open adds a session to the account of its caller.
func (a *Accounts) open(s *state.Session) *account {
	key := s.Caller()
	sh := a.shards.of(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	x := sh.m[key]
	if x == nil {
		x = &account{key: key}
		put(&sh.m, key, x)
	}
	x.sessions++
	return x
}

// close removes a session from the account.
func (a *Accounts) close(x *account) {
	sh := a.shards.of(x.key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if x.sessions--; x.sessions == 0 {
		delete(sh.m, x.key)
	}
}

// checkAccount returns why the owner of a locked session may not keep more bytes, or nil if it may.
func (m *Medium) checkAccount(s *session, more int, now time.Time) error {
	if more <= 0 || !m.exceeds(s, more) {
		return nil
	}
	m.lookForExpired(s, now)
	if m.exceeds(s, more) {
		return &state.PrincipalRoomError{Used: int(s.account.bytes.Load()), More: more, Max: m.limits.PrincipalBytes}
	}
	return nil
}

// trimAccount drops droppable entries of a log of a locked session, the oldest first, while the owner
// keeps more than it may.
func (m *Medium) trimAccount(s *session, l *stream) {
	if l.droppable == 0 || !m.exceeds(s, 0) {
		return
	}
	m.lookForExpired(s, m.clock())
	for l.droppable > 0 && m.exceeds(s, 0) {
		m.dropOldest(s, l)
	}
}

// exceeds reports whether the owner of a locked session would exceed its bound with more bytes.
func (m *Medium) exceeds(s *session, more int) bool {
	most := int64(m.limits.PrincipalBytes)
	return most >= 0 && s.account.bytes.Load()+int64(more) > most
}

// lookForExpired frees expired sessions of the owner of a locked session that are not swept yet, at
// most once a second.
func (m *Medium) lookForExpired(s *session, now time.Time) {
	since := int64(now.Sub(m.start))
	if last := s.account.looked.Load(); (last == 0 || time.Duration(since-last) >= min(time.Second, m.limits.SessionTTL)) && s.account.looked.CompareAndSwap(last, max(since, 1)) {
		m.sweepAccount(s, now)
	}
}

// sweepAccount frees expired sessions of the owner of a session, which may be locked. Sessions that
// are locked have not expired.
func (m *Medium) sweepAccount(s *session, now time.Time) {
	var gone []*session
	for o := range sessionsIn(&m.sessions) {
		if o == s || o.account != s.account || !o.mu.TryLock() {
			continue
		}
		if m.freeExpired(o, now) {
			gone = append(gone, o)
		}
		o.mu.Unlock()
	}
	if len(gone) == 0 {
		return
	}
	// The locks of principals are taken before those of sessions, and the caller holds one of
	// these.
	go func() {
		for _, o := range gone {
			m.principals.release(o)
		}
	}()
}

// smallEnd is the number of bytes that always fit, so that calls can end.
const smallEnd = 4 << 10

// fitsOwner returns why a write to a locked session exceeds its owner's bound. more is what the write
// adds besides entries. begins means that it begins calls.
func (m *Medium) fitsOwner(s *session, w *medium.Write, begins bool, more int, now time.Time) error {
	bytes := more + state.PinnedBytes(w.Entries)
	if !begins && w.Next != medium.NextWaiting && bytes <= smallEnd {
		return nil
	}
	if err := m.checkAccount(s, bytes, now); err != nil {
		return fmt.Errorf("session %s: %w", mcp.SessionPrint(s.id), err)
	}
	return nil
}

const (
	// sessionBytes is the size of a session in addition to state.Session.Bytes, for the copies that
	// replicas hold.
	sessionBytes = 3 << 10
	// streamBytes is the size of a stream in addition to its entries.
	streamBytes = 1 << 10
	// reclaimEvery is the shortest interval between two searches for memory to free.
	reclaimEvery = 100 * time.Millisecond
)

// WithBudget charges the memory of sessions to their creators: their principals, or else their
// addresses. It does not refuse writes, which were admitted before. When the budget refuses a
// holder, ended streams of its sessions without a reader are dropped early.
func WithBudget(b *budget.Budget) Option {
	return func(m *Medium) {
		m.budget = b
		b.OnRefusal(m.reclaim)
	}
}

// WithCharges is WithBudget, but nothing is dropped early: ended streams are still needed.
func WithCharges(b *budget.Budget) Option { return func(m *Medium) { m.budget = b } }

// account charges the holder of a locked session for its current size. charge calls it, and so does
// code that changes the record or the number of streams.
func (m *Medium) account(s *session) {
	if m.budget == nil || s.gone {
		return
	}
	record := int64(s.record.Bytes())
	s.memory.Settle(budget.Sessions, sessionBytes+record)
	s.memory.Settle(budget.Logs, int64(s.bytes)-record+streamBytes*int64(len(s.streams)))
}

// reclaim drops the ended streams of a holder's sessions. It returns false if there are none, or if
// the last call was too recent.
func (m *Medium) reclaim(h *budget.Holder) (freed bool) {
	now := m.clock().Sub(m.start)
	last := m.reclaimed.Load()
	if last != 0 && now-time.Duration(last) < reclaimEvery || !m.reclaimed.CompareAndSwap(last, int64(max(now, 1))) {
		return false
	}
	for s := range sessionsIn(&m.sessions) {
		s.mu.Lock()
		for i := len(s.finished) - 1; i >= 0 && s.memory.Holder() == h; i-- {
			if l := s.finished[i]; len(s.followers[l.name]) == 0 {
				m.dropStream(s, l)
				freed = true
			}
		}
		s.mu.Unlock()
	}
	return freed
}
