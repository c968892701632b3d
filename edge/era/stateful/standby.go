package stateful

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// A client may have several open standalone streams (2025-11-25, Transports, "Multiple
// Connections"). The newest is attached and gets the notifications. The others stand by and are only
// kept alive. When the attached stream ends, the newest standby is attached. If standbys were ended
// instead, clients that reopen every ended stream would loop.

// maxStandbys bounds the standby streams of a session on a replica. Beyond it the oldest ends.
const maxStandbys = 7

// standby is a standalone stream that is not attached.
type standby struct {
	cancel context.CancelCauseFunc
	// wanted receives one value when the stream should be attached.
	wanted chan struct{}
}

// standBy keeps the stream alive until it ends or is attached again, and returns true in the latter
// case.
func (w *standalone) standBy() bool {
	ctx, cancel := context.WithCancelCause(w.client)
	defer cancel(nil)
	sp := &standby{cancel: cancel, wanted: make(chan struct{}, 1)}
	if !w.s.addStandby(sp) {
		return false
	}
	defer func() {
		if w.s.removeStandby(sp) {
			w.e.promoteStandby(w.s)
		}
	}()
	w.ctx = ctx
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		pause, good := w.untilExpiry()
		if !good {
			return false
		}
		t.Reset(pause)
		select {
		case <-ctx.Done():
			w.sendRetryHint(ctx)
			return false
		case <-sp.wanted:
			w.s.removeStandby(sp) // before the stream can be chosen again
			return w.attachAgain()
		case <-t.C:
			if w.keepAlive() != nil {
				return false
			}
		}
	}
}

// attachAgain attaches a standby stream for the current caller of the session. It returns false if
// the stream has ended.
func (w *standalone) attachAgain() bool {
	if err := w.begin(state.Patch{Attach: true, Token: rand.Text()}, w.s.rec.Load().Principal); err != nil || w.a == nil {
		return false
	}
	if w.reportMissed() != nil && w.ctx.Err() == nil {
		w.detach()
		return false
	}
	return true
}

// addStandby registers a standby stream. If the attached stream has already ended, the standby is wanted
// at once. addStandby returns false if the session has ended here.
func (s *localSession) addStandby(sp *standby) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return false
	}
	if len(s.standbys) >= maxStandbys {
		s.standbys[0].cancel(errSuperseded)
		s.standbys = slices.Delete(s.standbys, 0, 1)
	}
	s.standbys = append(s.standbys, sp)
	if s.unattached {
		s.unattached = false
		sp.wanted <- struct{}{}
	}
	return true
}

// removeStandby removes a standby stream. It returns true if the stream was chosen to be attached, so
// that another must be.
func (s *localSession) removeStandby(sp *standby) (missed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standbys = slices.DeleteFunc(s.standbys, func(x *standby) bool { return x == sp })
	select {
	case <-sp.wanted:
		return true
	default:
		return false
	}
}

// chooseStandby chooses the newest standby stream here for attachment, unless a stream is attached or
// the session has ended. If there is no standby stream here, it returns false, and the next
// registered stream is chosen.
func (s *localSession) chooseStandby() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standalone != nil || s.ended != nil {
		return true
	}
	if len(s.standbys) == 0 {
		s.unattached = true
		return false
	}
	select {
	case s.standbys[len(s.standbys)-1].wanted <- struct{}{}:
	default: // already chosen
	}
	return true
}

// promoteStandby attaches a standby stream, here or on another replica, after the client has closed the
// attached one.
func (e *Era) promoteStandby(s *localSession) {
	if s.chooseStandby() || s.rec.Load().Attachment < 2 || e.calls.IsDraining() || e.closed.Load() {
		return
	}
	e.notify(e.life, state.SessionEvent{Kind: state.StreamLeft, Session: s.id})
}

// endStandalone ends the standalone streams here. The caller holds s.mu.
func (s *localSession) endStandalone(cause error) {
	if s.standalone != nil {
		s.standalone.cancel(cause)
	}
	for _, sp := range s.standbys {
		sp.cancel(cause)
	}
}
