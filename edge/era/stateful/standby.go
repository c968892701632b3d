package stateful

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// A client may have several open standalone streams (2025-11-25, Transports, "Multiple
// Connections"). The newest is attached and gets the notifications. The others are spare and only
// kept alive. When the attached stream ends, the newest spare is attached. If spares were ended
// instead, clients that reopen every ended stream would loop.

// maxSpare bounds the spare streams of a session on a replica. Beyond it the oldest ends.
const maxSpare = 7

// spare is a standalone stream that is not attached.
type spare struct {
	cancel context.CancelCauseFunc
	// wanted receives one value when the stream should be attached.
	wanted chan struct{}
}

// spare keeps the stream alive until it ends or is attached again, and returns true in the latter
// case.
func (w *standalone) spare() bool {
	ctx, cancel := context.WithCancelCause(w.client)
	defer cancel(nil)
	sp := &spare{cancel: cancel, wanted: make(chan struct{}, 1)}
	if !w.s.addSpare(sp) {
		return false
	}
	defer func() {
		if w.s.removeSpare(sp) {
			w.e.promoteSpare(w.s)
		}
	}()
	w.ctx = ctx
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		pause, good := w.untilExpiry()
		if !good {
			w.e.counters.Expired.Add(1)
			return false
		}
		t.Reset(pause)
		select {
		case <-ctx.Done():
			w.sendRetryHint(ctx)
			return false
		case <-sp.wanted:
			w.s.removeSpare(sp) // before the stream can be chosen again
			return w.attachAgain()
		case <-t.C:
			if w.keepAlive() != nil {
				return false
			}
		}
	}
}

// attachAgain attaches a spare stream for the current caller of the session. It returns false if
// the stream has ended.
func (w *standalone) attachAgain() bool {
	err := w.begin(state.Patch{Attach: true, Token: rand.Text()}, w.s.rec.Load().Principal)
	if w.a == nil {
		return false
	}
	if err != nil || w.greet(w.ctx) != nil && w.ctx.Err() == nil {
		w.detach()
		return false
	}
	return true
}

// addSpare registers a spare stream. If the attached stream has already ended, the spare is wanted
// at once. addSpare returns false if the session has ended here.
func (s *localSession) addSpare(sp *spare) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return false
	}
	if len(s.spares) >= maxSpare {
		s.spares[0].cancel(errSuperseded)
		s.spares = slices.Delete(s.spares, 0, 1)
	}
	s.spares = append(s.spares, sp)
	if s.unattached {
		s.unattached = false
		sp.wanted <- struct{}{}
	}
	return true
}

// removeSpare removes a spare stream. It returns true if the stream was chosen to be attached, so
// that another must be.
func (s *localSession) removeSpare(sp *spare) (missed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spares = slices.DeleteFunc(s.spares, func(x *spare) bool { return x == sp })
	select {
	case <-sp.wanted:
		return true
	default:
		return false
	}
}

// chooseSpare chooses the newest spare stream here for attachment, unless a stream is attached or
// the session has ended. If there is no spare stream here, it returns false, and the next
// registered stream is chosen.
func (s *localSession) chooseSpare() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standalone != nil || s.ended != nil {
		return true
	}
	if len(s.spares) == 0 {
		s.unattached = true
		return false
	}
	select {
	case s.spares[len(s.spares)-1].wanted <- struct{}{}:
	default: // already chosen
	}
	return true
}

// promoteSpare attaches a spare stream, here or on another replica, after the client has closed the
// attached one.
func (e *Era) promoteSpare(s *localSession) {
	rec := s.rec.Load()
	if s.chooseSpare() || rec.Attachment < 2 || e.calls.IsDraining() || e.closed.Load() {
		return
	}
	e.notify(e.life, state.SessionEvent{Kind: state.StreamLeft, Session: s.id})
}

// endStandalone ends the standalone streams here. The caller holds s.mu.
func (s *localSession) endStandalone(cause error) {
	if s.standalone != nil {
		s.standalone.cancel(cause)
	}
	for _, sp := range s.spares {
		sp.cancel(cause)
	}
}

// listened reports whether standalone streams are open here.
func (s *localSession) listened() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standalone != nil || len(s.spares) > 0
}
