package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// follower is one registration of Follow.
type follower struct {
	// session and member are the ids of the session, and of the follower in Redis.
	session, member string
	at              place
	// wake is called with the lock of followers held.
	wake func()
	// begun is true if Commit registered the follower in Redis when the stream began.
	begun bool
	// renewed is when it was last registered in Redis.
	renewed time.Time
	// soon is the timer of a wake-up from another replica. nil means that none is due.
	soon *time.Timer
}

// gather is the interval in which wake-ups from other replicas are merged into one. It bounds the
// reads that a busy log causes on other replicas.
const gather = 5 * time.Millisecond

// followers are the readers on this replica.
type followers struct {
	mu     sync.Mutex
	at     map[place]map[*follower]struct{}
	number atomic.Uint64
}

func (x *followers) add(f *follower) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.at[f.at] == nil {
		x.at[f.at] = make(map[*follower]struct{})
	}
	x.at[f.at][f] = struct{}{}
}

// remove removes a follower and reports whether it was there.
func (x *followers) remove(f *follower) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.at[f.at][f]
	if f.soon != nil {
		f.soon.Stop()
	}
	delete(x.at[f.at], f)
	if len(x.at[f.at]) == 0 {
		delete(x.at, f.at)
	}
	return ok
}

func (x *followers) wake(at place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for f := range x.at[at] {
		f.wake()
	}
}

// wakeSoon is wake for a hint from another replica, after gather.
func (x *followers) wakeSoon(at place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for f := range x.at[at] {
		if f.soon != nil {
			continue
		}
		f.soon = time.AfterFunc(gather, func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			f.soon = nil
			if _, ok := x.at[at][f]; ok {
				f.wake()
			}
		})
	}
}

// any reports whether a stream has a follower here.
func (x *followers) any(at place) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.at[at]) > 0
}

// wakeAll wakes all followers of a session, or of all sessions if key is empty.
func (x *followers) wakeAll(key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for at, fs := range x.at {
		if key != "" && at.session != key {
			continue
		}
		for f := range fs {
			f.wake()
		}
	}
}

// forget marks all followers to be registered again, because Redis may have lost them.
func (x *followers) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, fs := range x.at {
		for f := range fs {
			f.renewed = time.Time{}
		}
	}
}

// stale returns the followers that were last registered before a time.
func (x *followers) stale(since time.Time) []*follower {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []*follower
	for _, fs := range x.at {
		for f := range fs {
			if f.renewed.Before(since) {
				out = append(out, f)
			}
		}
	}
	return out
}

// Follow implements medium.Logs. It waits for Redis for at most a second; while Redis is
// unavailable, only writes of this replica wake the follower, until Beat has registered it.
func (r *Replica) Follow(id, stream string, wake func()) (stop func()) {
	f := &follower{session: id, at: r.place(id, stream), wake: wake, member: fmt.Sprintf("%s %d %s", r.id, r.followers.number.Add(1), stream)}
	if r.logs.follow(f.at) {
		f.member, f.renewed, f.begun = fmt.Sprintf("%s 0 %s", r.id, stream), time.Now(), true
		r.followers.add(f)
		return func() { r.unfollow(f) }
	}
	r.followers.add(f)
	ctx, cancel := detachedContext(context.Background())
	defer cancel()
	_, err := r.run(ctx, followScript, id, "", f.member)
	switch {
	case errors.Is(err, state.ErrNotFound):
		r.followers.remove(f)
		wake()
		return func() {}
	case err != nil:
		wake()
	default:
		r.followers.mu.Lock()
		f.renewed = time.Now()
		r.followers.mu.Unlock()
	}
	return func() { r.unfollow(f) }
}

// unfollow ends a registration. If Redis cannot be reached, the registration lapses with the lease.
func (r *Replica) unfollow(f *follower) {
	if !r.followers.remove(f) || r.logs.unfollow(f.at, !r.followers.any(f.at)) && f.begun {
		return
	}
	ctx, cancel := detachedContext(context.Background())
	defer cancel()
	_, _ = r.run(ctx, unfollowScript, f.session, "", f.member)
}

// refollow renews registrations before they lapse.
func (r *Replica) refollow(ctx context.Context) error {
	list := r.followers.stale(time.Now().Add(-max(r.limits.Lease, r.renewals.every) / 3))
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = f.session
	}
	return r.each(ctx, followScript, ids, func(i int) []any { return []any{list[i].member} }, func(i int, rep reply) error {
		r.followers.mu.Lock()
		defer r.followers.mu.Unlock()
		// The registration in an unreadable session lapses.
		if list[i].renewed = time.Now(); rep.code == "gone" {
			list[i].wake()
		}
		return nil
	})
}

// woken handles a wake-up from another replica: "<length>:<session key><stream>".
func (r *Replica) woken(payload string) {
	if key, stream, ok := cutCounted(payload); ok && strings.HasPrefix(key, r.prefix) {
		r.logs.forget(place{key, stream})
		r.followers.wakeSoon(place{key, stream})
	}
}
