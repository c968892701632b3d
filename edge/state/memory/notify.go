package memory

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// notifyWait bounds the wait of an event for its handlers.
	notifyWait = 250 * time.Millisecond
	// maxHandlers bounds the handlers of one replica that run at once. Further events are lost.
	maxHandlers = 256
)

// follower is one registration of Follow.
type follower struct {
	replica *Store
	// wake is called with the session's lock held.
	wake func()
}

// Notify implements medium.Replicas. It notifies a lost replica, but does not wait for it.
func (r *Store) Notify(ctx context.Context, b state.SessionEvent) error {
	now, err := r.ready(ctx)
	if err != nil {
		return err
	}
	others := r.holders(b.Session, now)
	handled, unheard := make(chan struct{}, len(others)), make(chan struct{}, len(others))
	waiting := 0
	for _, o := range others {
		if o.lost(now) {
			o.handle(b, unheard)
		} else if o.handle(b, handled) {
			waiting++
		}
	}
	late := time.After(notifyWait)
	for range waiting {
		select {
		case <-handled:
		case <-late:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// notifyBegun notifies the other holders of a locked session of the calls that have begun and are
// not done. It does not wait for them.
func (r *Store) notifyBegun(s *session, begun []*storedCall) {
	if len(begun) == 0 {
		return
	}
	for _, o := range othersOf(s.holders, r) {
		for _, c := range begun {
			if c.Phase != state.PhaseDone {
				o.handle(state.SessionEvent{Kind: state.RequestBegan, Session: s.id, RequestID: c.RequestID}, make(chan struct{}, 1))
			}
		}
	}
}

// holders returns the other replicas that hold a session, or held it until recently.
func (r *Store) holders(id string, now time.Time) []*Store {
	if v, ok := r.m.sessions.Load(id); ok {
		s := v.(*session)
		s.mu.Lock()
		defer s.mu.Unlock()
		return othersOf(s.holders, r)
	}
	if e := r.m.notifiable(id, now); e != nil {
		return othersOf(e.holders, r)
	}
	return nil
}

// handle runs the replica's handler. It returns false if there is none, or if too many run.
func (r *Store) handle(b state.SessionEvent, handled chan<- struct{}) bool {
	return r.onEvent != nil && r.handlers.TryGo(func() error {
		r.onEvent(b)
		handled <- struct{}{}
		return nil
	})
}

// Follow implements medium.Logs.
func (r *Store) Follow(id, stream string, wake func()) (stop func()) {
	s, err := r.m.lock(id, r.m.clock())
	if err != nil {
		wake()
		return func() {}
	}
	defer s.mu.Unlock()
	f := &follower{replica: r, wake: wake}
	if s.followers[stream] == nil {
		put(&s.followers, stream, make(map[*follower]struct{}))
	}
	s.followers[stream][f] = struct{}{}
	return func() { r.unfollow(s, stream, f) }
}

func (r *Store) unfollow(s *session, stream string, f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.followers[stream][f]; !ok {
		return
	}
	s.used = r.m.clock()
	delete(s.followers[stream], f)
	if len(s.followers[stream]) == 0 {
		delete(s.followers, stream)
	}
}
