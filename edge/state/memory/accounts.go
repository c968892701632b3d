package memory

import (
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// Accounts count the sizes of each caller's sessions, for Limits.PrincipalBytes, over all media
// that share them (WithAccounts). They are safe for concurrent use. Use NewAccounts to create them.
type Accounts struct {
	shards [shardCount]struct {
		mu sync.Mutex
		by map[string]*account
	}
}

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

// NewAccounts makes empty Accounts.
func NewAccounts() *Accounts {
	a := new(Accounts)
	for i := range a.shards {
		a.shards[i].by = make(map[string]*account)
	}
	return a
}

// WithAccounts shares the accounts of callers with other media.
func WithAccounts(a *Accounts) Option { return func(m *Medium) { m.accounts = a } }

// open adds a session to the account of its owner: of its principal or, without a subject, of the
// address that it came from.
func (a *Accounts) open(s *state.Session) *account {
	key := "p" + s.Principal.Key()
	if s.Principal.Anonymous() {
		key = "a"
		if s.Address.IsValid() {
			key += mcp.CountedAddress(s.Address).String()
		}
	}
	sh := &a.shards[maphash.String(seed, key)%shardCount]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	x := sh.by[key]
	if x == nil {
		x = &account{key: key}
		sh.by[key] = x
	}
	x.sessions++
	return x
}

// close removes a session from the account.
func (a *Accounts) close(x *account) {
	sh := &a.shards[maphash.String(seed, x.key)%shardCount]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if x.sessions--; x.sessions == 0 {
		delete(sh.by, x.key)
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
	m.sessions.Range(func(_, v any) bool {
		o := v.(*session)
		if o == s || o.account != s.account || !o.mu.TryLock() {
			return true
		}
		if m.expired(o, now) {
			m.erase(o)
			gone = append(gone, o)
		} else {
			for _, l := range o.streams {
				if m.lapsed(l, now) {
					m.dropStream(o, l)
				}
			}
		}
		o.mu.Unlock()
		return true
	})
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

// growth returns the number of bytes that a write adds to its owner's account. refused means that
// the write may be refused for them. A short end of a call always fits.
func growth(w *pinning, more int) (bytes int, refused bool) {
	bytes = more + w.pinned
	return bytes, bytes > 0 && (w.begins || w.asks || bytes > smallEnd)
}

// smallEnd is the number of bytes that always fit, so that calls can end.
const smallEnd = 4 << 10

// pinning is the input of growth for a write.
type pinning struct {
	// pinned is the bytes of entries that may not be dropped, without questions.
	pinned       int
	begins, asks bool
}

// fitsOwner returns why a write to a locked session exceeds its owner's bound.
func (m *Medium) fitsOwner(s *session, w *pinning, more int, now time.Time) error {
	bytes, refused := growth(w, more)
	if !refused {
		return nil
	}
	if err := m.checkAccount(s, bytes, now); err != nil {
		return fmt.Errorf("session %.40q: %w", s.id, err)
	}
	return nil
}
