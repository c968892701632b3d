package memory

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// ringWait is how long a bell waits for its handlers.
	ringWait = 250 * time.Millisecond
	// maxBells bounds the handlers of one replica that run at once; a bell beyond is lost.
	maxBells = 256
)

// follower is one registration of Follow.
type follower struct {
	replica *Replica
	wake    chan struct{}
}

// Answering implements state.Bus.
func (r *Replica) Answering(fn func(state.Bell)) { r.answer.Store(&fn) }

// Ring implements state.Bus. A replica that is silent for too long is rung, but not waited for.
func (r *Replica) Ring(ctx context.Context, b state.Bell) error {
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
	if waiting == 0 {
		return nil
	}
	late := time.NewTimer(ringWait)
	defer late.Stop()
	for range waiting {
		select {
		case <-handled:
		case <-late.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// holders are the others that hold a session, or held it until a moment ago.
func (r *Replica) holders(id string, now time.Time) []*Replica {
	if v, ok := r.m.sessions.Load(id); ok {
		s := v.(*session)
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.others(r)
	}
	if e := r.m.ringable(id, now); e != nil {
		s := session{holders: e.holders}
		return s.others(r)
	}
	return nil
}

// handle runs the replica's handler; false when there is none, or too many run.
func (r *Replica) handle(b state.Bell, handled chan<- struct{}) bool {
	fn := r.answer.Load()
	if fn == nil {
		return false
	}
	select {
	case r.bells <- struct{}{}:
	default:
		return false
	}
	go func() {
		defer func() { <-r.bells; handled <- struct{}{} }()
		(*fn)(b)
	}()
	return true
}

// Follow implements state.Bus.
func (r *Replica) Follow(id, stream string) (<-chan struct{}, func()) {
	f := &follower{replica: r, wake: make(chan struct{}, 1)}
	s, err := r.m.lock(id, r.m.clock())
	if err != nil {
		f.wake <- struct{}{}
		return f.wake, func() {}
	}
	defer s.mu.Unlock()
	if s.followers[stream] == nil {
		put(&s.followers, stream, make(map[*follower]struct{}))
	}
	s.followers[stream][f] = struct{}{}
	return f.wake, func() { r.unfollow(s, stream, f) }
}

func (r *Replica) unfollow(s *session, stream string, f *follower) {
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
