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

// Accounts count what the sessions of each caller keep, for Limits.PrincipalBytes: those of all media that share them (WithAccounts). Safe for
// concurrent use. Make them with NewAccounts.
type Accounts struct {
	shards [shardCount]struct {
		mu sync.Mutex
		by map[string]*account
	}
}

// account is what one caller keeps.
type account struct {
	key string
	// bytes of all its sessions.
	bytes atomic.Int64
	// looked is when sessions that have expired were looked for last, since the medium's start.
	looked atomic.Int64
	// sessions counts them; the shard's mu guards it.
	sessions int
}

// NewAccounts makes Accounts of which none keeps anything.
func NewAccounts() *Accounts {
	a := new(Accounts)
	for i := range a.shards {
		a.shards[i].by = make(map[string]*account)
	}
	return a
}

// WithAccounts counts what callers keep with what they keep in other media that have the same Accounts.
func WithAccounts(a *Accounts) Option { return func(m *Medium) { m.accounts = a } }

// open gives the account of a session's owner one session more: of its principal or, without a subject, of the address that it came from.
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

// close gives it one session less.
func (a *Accounts) close(x *account) {
	sh := &a.shards[maphash.String(seed, x.key)%shardCount]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if x.sessions--; x.sessions == 0 {
		delete(sh.by, x.key)
	}
}

// affords says why the owner of a locked session may not keep so many bytes more; nil: it may.
func (m *Medium) affords(s *session, more int, now time.Time) error {
	if more <= 0 || !m.exceeds(s, more) {
		return nil
	}
	m.lookForExpired(s, now)
	if m.exceeds(s, more) {
		return &state.PrincipalRoomError{Used: int(s.account.bytes.Load()), More: more, Max: m.limits.PrincipalBytes}
	}
	return nil
}

// spare drops what may be dropped of a log of a locked session, the oldest first, for as long as the owner keeps more than it may.
func (m *Medium) spare(s *session, l *stream) {
	if l.droppable == 0 || !m.exceeds(s, 0) {
		return
	}
	m.lookForExpired(s, m.clock())
	for l.droppable > 0 && m.exceeds(s, 0) {
		m.dropOldest(s, l)
	}
}

// exceeds says whether the owner of a locked session keeps more than it may with so many bytes more.
func (m *Medium) exceeds(s *session, more int) bool {
	most := int64(m.limits.PrincipalBytes)
	return most >= 0 && s.account.bytes.Load()+int64(more) > most
}

// lookForExpired gives back what the owner of a locked session keeps that has expired and is not swept yet, at most once a second.
func (m *Medium) lookForExpired(s *session, now time.Time) {
	since := int64(now.Sub(m.start))
	if last := s.account.looked.Load(); (last == 0 || time.Duration(since-last) >= min(time.Second, m.limits.SessionTTL)) && s.account.looked.CompareAndSwap(last, max(since, 1)) {
		m.sweepAccount(s, now)
	}
}

// sweepAccount gives back what has expired of the owner of a session, which may be locked. Sessions that others use now have not.
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
	go func() { // The locks of principals are taken before those of sessions, and the caller has one of these.
		for _, o := range gone {
			m.principals.release(o)
		}
	}()
}

// growth is what a write adds to what the owner keeps, and whether it is refused where that is too much: what ends a call in a few words fits always.
func growth(w *pinning, more int) (bytes int, refused bool) {
	bytes = more + w.pinned
	return bytes, bytes > 0 && (w.begins || w.asks || bytes > smallEnd)
}

// smallEnd is how many bytes fit always, so that what was begun can end.
const smallEnd = 4 << 10

// pinning is what a write says for growth.
type pinning struct {
	// pinned are the bytes of entries that may not be dropped, without questions.
	pinned       int
	begins, asks bool
}

// fitsOwner says why a write to a locked session is too much for its owner.
func (m *Medium) fitsOwner(s *session, w *pinning, more int, now time.Time) error {
	bytes, refused := growth(w, more)
	if !refused {
		return nil
	}
	if err := m.affords(s, bytes, now); err != nil {
		return fmt.Errorf("session %.40q: %w", s.id, err)
	}
	return nil
}
