package redis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// follower is one registration of Follow.
type follower struct {
	// id is the session's, stream and member as Redis has them.
	id, stream, member string
	// wake is called with the lock of followers.
	wake func()
	// begun: Begin registered it.
	begun bool
	// renewed is when Redis last heard of it.
	renewed time.Time
	// soon gives the token for wake-ups from elsewhere; nil when none is due.
	soon *time.Timer
}

// gather is how long wake-ups from other replicas are gathered to one, so that a busy log costs its
// readers elsewhere a bounded number of reads.
const gather = 5 * time.Millisecond

// followers are the readers on this replica, by session key.
type followers struct {
	mu       sync.Mutex
	sessions map[string]map[*follower]struct{}
	number   atomic.Uint64
}

func (x *followers) init() { x.sessions = make(map[string]map[*follower]struct{}) }

func (x *followers) add(key string, f *follower) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.sessions[key] == nil {
		x.sessions[key] = make(map[*follower]struct{})
	}
	x.sessions[key][f] = struct{}{}
}

// remove returns whether it was there.
func (x *followers) remove(key string, f *follower) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.sessions[key][f]
	if f.soon != nil {
		f.soon.Stop()
	}
	delete(x.sessions[key], f)
	if len(x.sessions[key]) == 0 {
		delete(x.sessions, key)
	}
	return ok
}

func (x *followers) wake(key, stream string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for f := range x.sessions[key] {
		if f.stream == stream {
			f.wake()
		}
	}
}

// wakeSoon is wake for a hint from another replica.
func (x *followers) wakeSoon(key, stream string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for f := range x.sessions[key] {
		if f.stream != stream || f.soon != nil {
			continue
		}
		f.soon = time.AfterFunc(gather, func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			f.soon = nil
			if _, ok := x.sessions[key][f]; ok {
				f.wake()
			}
		})
	}
}

// any says that somebody follows a stream here.
func (x *followers) any(at place) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for f := range x.sessions[at.session] {
		if f.stream == at.stream {
			return true
		}
	}
	return false
}

// wakeAll wakes all followers of a session, or of every session if key is empty.
func (x *followers) wakeAll(key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for k, fs := range x.sessions {
		if key != "" && k != key {
			continue
		}
		for f := range fs {
			f.wake()
		}
	}
}

// forget is for when Redis may have lost what it was told: all are to be registered again.
func (x *followers) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, fs := range x.sessions {
		for f := range fs {
			f.renewed = time.Time{}
		}
	}
}

// stale are the followers that Redis did not hear of since a time.
func (x *followers) stale(since time.Time) []*follower {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []*follower
	for _, fs := range x.sessions {
		for f := range fs {
			if f.renewed.Before(since) {
				out = append(out, f)
			}
		}
	}
	return out
}

// Follow implements medium.Logs. It asks Redis for at most a second; while that cannot be reached, the
// follower is woken by this replica's writes only, until Beat has registered it.
func (r *Replica) Follow(id, stream string, wake func()) (stop func()) {
	f := &follower{id: id, stream: stream, wake: wake, member: fmt.Sprintf("%s %d %s", r.id, r.followers.number.Add(1), stream)}
	key := r.session(id)
	if r.logs.follow(place{key, stream}) {
		f.member, f.renewed, f.begun = fmt.Sprintf("%s 0 %s", r.id, stream), time.Now(), true
		r.followers.add(key, f)
		return func() { r.unfollow(key, f) }
	}
	r.followers.add(key, f)
	ctx, cancel := aside(context.Background())
	defer cancel()
	rep, err := r.run(ctx, followScript, id, f.member)
	switch {
	case err != nil:
		wake()
	case rep.code == "gone":
		r.followers.remove(key, f)
		wake()
		return func() {}
	default:
		r.followers.mu.Lock()
		f.renewed = time.Now()
		r.followers.mu.Unlock()
	}
	return func() { r.unfollow(key, f) }
}

// unfollow ends a registration. If Redis does not hear of it, it lapses with the lease.
func (r *Replica) unfollow(key string, f *follower) {
	if !r.followers.remove(key, f) {
		return
	}
	at := place{key, f.stream}
	if r.logs.unfollow(at, !r.followers.any(at)) && f.begun {
		return
	}
	ctx, cancel := aside(context.Background())
	defer cancel()
	_, _ = r.run(ctx, unfollowScript, f.id, f.member)
}

// refollow renews the registrations in time before they lapse.
func (r *Replica) refollow(ctx context.Context) error {
	list := r.followers.stale(time.Now().Add(-max(r.limits.Lease, r.renewals.every) / 3))
	for len(list) > 0 {
		batch := list[:min(len(list), pipeline)]
		list = list[len(batch):]
		ids := make([]string, len(batch))
		for i, f := range batch {
			ids[i] = f.id
		}
		replies, err := r.each(ctx, followScript, ids, func(i int) []any { return []any{batch[i].member} })
		if err != nil {
			return err
		}
		now := time.Now()
		r.followers.mu.Lock()
		for i, f := range batch {
			if f.renewed = now; replies[i].code == "gone" {
				f.wake()
			}
		}
		r.followers.mu.Unlock()
	}
	return nil
}

// woken handles a wake-up from another replica: "<length>:<session key><stream>".
func (r *Replica) woken(payload string) {
	if key, stream, ok := cutCounted(payload); ok && strings.HasPrefix(key, r.prefix) {
		r.logs.forget(place{key, stream})
		r.followers.wakeSoon(key, stream)
	}
}
