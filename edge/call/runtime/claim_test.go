package runtime

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// A cancellation during an outage of the store takes effect, whether its call waits or runs.
func TestCancelWhileTheStoreIsAway(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		a, b := h.replica(true), h.replica(true)
		h.send(a, "waits", h.asksFirst(1))
		h.send(a, "runs", func(ctx context.Context, _ *medium.Record, send func(float64)) *call.Reply {
			send(1)
			pause(ctx, time.Hour)
			return says("r")
		})
		sleep(3 * time.Second)
		h.wantOver("waits", call.HowParked)
		h.m.Away(true)
		for _, id := range []string{"waits", "runs"} {
			b.Cancel(session, id, nil)
		}
		sleep(10 * time.Second)
		h.m.Away(false)
		sleep(3 * time.Second)
		for _, id := range []string{"waits", "runs"} {
			if rec := a.Driver(id); rec != nil {
				t.Errorf("%s still runs", id)
			}
		}
		h.wantOver("waits", call.HowParked, call.HowEnded)
		if n := b.cancelRetries.Load(); n != 0 {
			t.Errorf("%d cancellations are retried", n)
		}
	})
}

// Cancellations of unknown calls are bounded.
func TestCancellationsOfUnknownCallsAreBounded(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(false)
		for i := range 2 * maxRetries {
			r.Cancel(session, fmt.Sprint("made-up", i), nil)
		}
		synctest.Wait()
		if n, inside := r.cancelRetries.Load(), r.work.n.Load(); n != maxRetries || inside != maxRetries {
			t.Errorf("%d cancellations are looked for again by %d goroutines, want %d", n, inside, maxRetries)
		}
		sleep(2 * cancelAgain)
		if n, bytes := r.cancelRetries.Load(), r.retryBytes.Load(); n != 0 || bytes != 0 {
			t.Errorf("%d cancellations of %d bytes are left", n, bytes)
		}
	})
}

// slowClaims is a store with more lost calls than may be taken over concurrently. Each claim is
// slow.
type slowClaims struct {
	medium.Store
	beats, claims, at, most atomic.Int32
}

func (s *slowClaims) Beat(_ context.Context, most int, _ bool) (out []medium.ClaimTarget, _ error) {
	s.beats.Add(1)
	for i := range most {
		out = append(out, medium.ClaimTarget{Session: session, Call: fmt.Sprint("lost", i)})
	}
	return out, nil
}

func (s *slowClaims) Claim(ctx context.Context, _ medium.ClaimTarget) (*medium.Owned, error) {
	s.claims.Add(1)
	s.most.Store(max(s.most.Load(), s.at.Add(1)))
	defer s.at.Add(-1)
	pause(ctx, 1900*time.Millisecond)
	return nil, state.ErrNotFound
}

// Slow claims do not delay heartbeats.
func TestHeartbeatDoesNotWaitForTakeovers(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		s := &slowClaims{}
		h.wrap = func(st medium.Store) medium.Store { s.Store = st; return s }
		r := h.replica(true)
		sleep(10500 * time.Millisecond)
		if n := s.beats.Load(); n != 11 {
			t.Errorf("%d signs of life in 10 s, want 11", n)
		}
		if n := s.most.Load(); n != int32(r.o.Takeovers) {
			t.Errorf("%d calls were taken over at a time, want %d", n, r.o.Takeovers)
		}
		r.mu.Lock()
		waiting := len(r.claiming)
		r.mu.Unlock()
		if waiting > lostAtOnce*r.o.Takeovers {
			t.Errorf("%d lost calls wait, want %d at most", waiting, lostAtOnce*r.o.Takeovers)
		}
		r.Close()
		if n := s.claims.Load(); n > 7*int32(r.o.Takeovers) {
			t.Errorf("%d claims", n)
		}
	})
}

// slowSweeps is a store whose search for lost calls is slow.
type slowSweeps struct {
	medium.Store
	beats, at, most atomic.Int32
}

func (s *slowSweeps) Beat(ctx context.Context, most int, _ bool) ([]medium.ClaimTarget, error) {
	s.beats.Add(1)
	s.most.Store(max(s.most.Load(), s.at.Add(1)))
	defer s.at.Add(-1)
	if most > 0 {
		pause(ctx, time.Hour)
	}
	return nil, ctx.Err()
}

// A slow search for lost calls does not delay heartbeats. Searches do not accumulate.
func TestHeartbeatDoesNotWaitForSweeps(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		s := &slowSweeps{}
		h.wrap = func(st medium.Store) medium.Store { s.Store = st; return s }
		r := h.replica(false)
		r.o.Heartbeat = 100 * time.Millisecond
		began := time.Now()
		r.Start()
		first := time.Since(began)
		sleep(10050 * time.Millisecond)
		if n := s.beats.Load(); n != 101 {
			t.Errorf("%d signs of life in 10 s, want 101", n)
		}
		if n := s.most.Load(); n > 2 {
			t.Errorf("%d heartbeats at a time, want 2 at most", n)
		}
		if first > state.Timeout {
			t.Errorf("the start took %v", first)
		}
	})
}

// lateSweeps is a store whose search for lost calls takes longer than the timeout of one operation.
type lateSweeps struct {
	slowClaims
	sweeping, cut atomic.Int32
}

func (s *lateSweeps) Beat(ctx context.Context, most int, leaving bool) ([]medium.ClaimTarget, error) {
	if most > 0 {
		s.sweeping.Add(1)
		defer s.sweeping.Add(-1)
		pause(ctx, 3*time.Second)
	}
	if ctx.Err() != nil {
		s.cut.Add(1)
		return nil, ctx.Err()
	}
	return s.slowClaims.Beat(ctx, min(most, 1), leaving)
}

// A sweep of a slow store is completed, because otherwise lost calls would never be found. Close
// ends it.
func TestSweepsMayTakeLong(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		s := &lateSweeps{}
		h.wrap = func(st medium.Store) medium.Store { s.Store = st; return s }
		r := h.replica(true) // The first sweep has the timeout of one operation, so that Start returns.
		s.cut.Store(0)
		sleep(10 * time.Second)
		if s.claims.Load() == 0 || s.cut.Load() != 0 {
			t.Errorf("%d claims, and %d sweeps that were cut", s.claims.Load(), s.cut.Load())
		}
		await.Until(t, "a sweep is in progress", func() bool { return s.sweeping.Load() > 0 })
		r.Close()
		if n := s.cut.Load(); n != 1 {
			t.Errorf("%d sweeps were cut by the end, want 1", n)
		}
	})
}

// A replica sends a heartbeat as soon as the store is available again, because the last one may be
// about to expire.
func TestHeartbeatWhenTheStoreReturns(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		s := &slowClaims{}
		h.wrap = func(st medium.Store) medium.Store { s.Store = st; return s }
		r := h.replica(true)
		sleep(10 * time.Millisecond)
		before := s.beats.Load()
		r.Returning()
		synctest.Wait()
		if n := s.beats.Load() - before; n != 1 {
			t.Errorf("%d signs of life when the store is back, want 1", n)
		}
	})
}

// refusing is a store whose heartbeats fail with err, unless it is nil.
type refusing struct {
	medium.Store
	err *atomic.Pointer[error]
}

func (s refusing) Beat(ctx context.Context, most int, leaving bool) ([]medium.ClaimTarget, error) {
	if err := s.err.Load(); err != nil {
		return nil, *err
	}
	return s.Store.Beat(ctx, most, leaving)
}

// Repeated failures of heartbeats are logged once a minute for each reason.
func TestFailingHeartbeatsDoNotFillTheLog(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		var log strings.Builder
		h.log = &log
		var failure atomic.Pointer[error]
		h.wrap = func(s medium.Store) medium.Store { return refusing{s, &failure} }
		h.replica(true)
		fails := func(with error, d time.Duration, lines int, each string) {
			t.Helper()
			failure.Store(nil)
			if with != nil {
				failure.Store(&with)
			}
			time.Sleep(d)
			synctest.Wait()
			if got := strings.Count(log.String(), "\n"); got != lines || lines > 0 && strings.Count(log.String(), each) != lines {
				t.Errorf("%d lines, want %d with %q:\n%s", got, lines, each, log.String())
			}
			log.Reset()
		}
		fails(nil, 10*time.Second, 0, "")
		fails(fmt.Errorf("%w: refused", state.ErrUnavailable), 50*time.Second, 1, "refused")
		fails(fmt.Errorf("%w: wrong password", state.ErrUnavailable), 150*time.Second, 3, "wrong password")
		fails(nil, 10*time.Second, 0, "")
		fails(fmt.Errorf("%w: wrong password", state.ErrUnavailable), 50*time.Second, 1, "wrong password")
	})
}

// deafBegin is a store whose replies to writes that begin records are lost.
type deafBegin struct{ medium.Store }

func (s deafBegin) Commit(ctx context.Context, w *medium.Write) error {
	err := s.Store.Commit(ctx, w)
	if len(w.Begin) > 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}
