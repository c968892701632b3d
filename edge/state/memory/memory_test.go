package memory_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/memory"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func record(id string) *state.Session {
	return &state.Session{ID: id, Principal: mcp.Principal{Subject: id}}
}

func storedCall(id string) state.Request {
	return state.Request{ID: id, RequestID: id, Method: mcp.MethodToolsCall, Deadline: time.Now().Add(time.Hour)}
}

// fill makes a session with a finished stream.
func fill(t *testing.T, r *memory.Store, id string) {
	t.Helper()
	if err := r.Create(t.Context(), record(id)); err != nil {
		t.Fatal(err)
	}
	w, err := statetest.Begin(t.Context(), r, id, "st", storedCall("c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w[0].Finish(t.Context(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
}

func TestSweepFreesUnusedSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(state.Limits{})
		defer m.Close()
		a, b := m.Store("a", medium.Hooks{}), m.Store("b", medium.Hooks{})
		fill(t, a, "s")
		fill(t, a, "erased")
		if _, err := b.Load(t.Context(), "erased", true); err != nil {
			t.Fatal(err)
		}
		if err := a.Delete(t.Context(), "erased"); err != nil {
			t.Fatal(err)
		}
		want := func(sessions, streams int) {
			t.Helper()
			synctest.Wait()
			if s := m.Stats(); s.Sessions != sessions || s.Streams != streams {
				t.Errorf("after %v: %+v, want %d sessions and %d streams", state.DefaultLimits().LogTTL, s, sessions, streams)
			}
		}
		want(1, 1)
		time.Sleep(6 * time.Minute)
		want(1, 0)
		time.Sleep(time.Hour)
		want(0, 0)
		// The sweep rests, and comes back.
		time.Sleep(time.Hour)
		fill(t, b, "s")
		want(1, 1)
		time.Sleep(2 * time.Hour)
		want(0, 0)
	})
}

func TestAForgottenMediumHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fill(t, memory.New(state.Limits{}).Store("r", medium.Hooks{}), "s")
	})
}

func TestCloseEndsTheMedium(t *testing.T) {
	m := memory.New(state.Limits{})
	r := m.Store("r", medium.Hooks{})
	fill(t, r, "s")
	m.Close()
	m.Close()
	if _, err := r.Load(t.Context(), "s", true); !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("error %v, want unavailable", err)
	}
}

func TestStatsCountLosses(t *testing.T) {
	m := memory.New(state.Limits{LogEvents: 2})
	defer m.Close()
	r := m.Store("r", medium.Hooks{})
	if err := r.Create(t.Context(), record("s")); err != nil {
		t.Fatal(err)
	}
	w, err := statetest.Begin(t.Context(), r, "s", "st", storedCall("c"))
	if err != nil {
		t.Fatal(err)
	}
	var entries []state.Entry
	for i := range 5 {
		entries = append(entries, state.Entry{Kind: state.EntryLog, Data: fmt.Append(nil, i)})
	}
	if err := w[0].Append(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
	page, err := r.Read(t.Context(), "s", "st", medium.Position{Epoch: w[0].Record.Epoch, Seq: 99}, 0)
	if err != nil || !page.Ahead {
		t.Fatal(page, err)
	}
	if got, want := m.Stats(), (memory.Stats{Sessions: 1, Streams: 1, Bytes: m.Stats().Bytes, Dropped: 3, Rollbacks: 1}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

func TestSilentHolderIsRungButNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(state.Limits{})
		defer m.Close()
		release := make(chan struct{})
		var rung atomic.Int32
		a, b := m.Store("a", medium.Hooks{}), m.Store("b", medium.Hooks{Event: func(state.SessionEvent) { rung.Add(1); <-release }})
		if err := a.Create(t.Context(), record("s")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Load(t.Context(), "s", true); err != nil {
			t.Fatal(err)
		}
		ring := func(ctx context.Context) (took time.Duration, err error) {
			start := time.Now()
			err = a.Notify(ctx, state.SessionEvent{Kind: state.SessionChanged, Session: "s"})
			return time.Since(start), err
		}
		if took, err := ring(t.Context()); took != 250*time.Millisecond || err != nil {
			t.Errorf("a hanging holder took %v: %v, want 250ms", took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if took, err := ring(ctx); took != time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ringing until the context's end took %v: %v", took, err)
		}
		time.Sleep(state.DefaultLimits().Lease)
		if took, err := ring(t.Context()); took != 0 || err != nil {
			t.Errorf("a silent holder took %v: %v, want no wait", took, err)
		}
		synctest.Wait()
		if rung.Load() != 3 {
			t.Errorf("rung %d times, want 3", rung.Load())
		}
		close(release)
	})
}

func TestHangingHandlersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(state.Limits{})
		defer m.Close()
		release := make(chan struct{})
		var rung atomic.Int32
		a, b := m.Store("a", medium.Hooks{}), m.Store("b", medium.Hooks{Event: func(state.SessionEvent) { rung.Add(1); <-release }})
		if err := a.Create(t.Context(), record("s")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Load(t.Context(), "s", true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for range 1000 {
			if err := a.Notify(t.Context(), state.SessionEvent{Kind: state.SessionChanged, Session: "s"}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := rung.Load(); n == 0 || n == 1000 {
			t.Errorf("%d handlers run at once", n)
		}
		close(release)
	})
}
