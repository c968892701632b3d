package memory

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
)

// entries counts what the medium's indexes hold.
func (m *Medium) entries() int {
	n := 0
	count := func(_, _ any) bool { n++; return true }
	m.sessions.Range(count)
	m.erased.Range(count)
	m.running.Range(count)
	for i := range m.principals.owners {
		n += len(m.principals.owners[i].m)
	}
	return n
}

// use makes a session with a call that waits for an answer, and one that is done.
func use(t *testing.T, r *Store, id string) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(r.Create(ctx, &state.Session{ID: id, Principal: mcp.Principal{Subject: id}}))
	for _, stream := range []string{"waits", "done"} {
		w, err := statetest.Begin(ctx, r, id, stream, state.Request{ID: stream, RequestID: stream, Deadline: time.Now().Add(time.Hour)})
		must(err)
		must(w[0].Ask(ctx, nil, state.Ask{ID: stream}))
	}
	_, o, err := r.Answer(ctx, id, "done", state.Answer{}, 1)
	must(err)
	must(statetest.Own(r, o.Record).Finish(ctx, []byte("{}")))
}

func TestIndexesForgetErasedSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(state.Limits{})
		defer m.Close()
		r := m.Store("r", medium.Hooks{})
		for i := range 100 {
			use(t, r, fmt.Sprint(i))
		}
		for i := range 100 {
			if err := r.Delete(t.Context(), fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		if n := m.entries(); n != 100 {
			t.Errorf("%d entries are left, want those that find the holders", n)
		}
		time.Sleep(state.NotifiableFor + 30*time.Second)
		synctest.Wait()
		if n := m.entries(); n != 0 {
			t.Errorf("%d entries are left", n)
		}
	})
}

func TestExpiryNeedsNoSweep(t *testing.T) {
	now := time.Now()
	m := New(state.Limits{}, WithClock(func() time.Time { return now }))
	defer m.Close()
	r := m.Store("r", medium.Hooks{})
	if err := r.Create(t.Context(), &state.Session{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Hour)
	if _, err := r.Load(t.Context(), "s", true); !errors.Is(err, state.ErrNotFound) {
		t.Fatal(err)
	}
	if n := m.entries(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}

func TestAUsedSessionForgetsItsOldCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(state.Limits{})
		defer m.Close()
		r := m.Store("r", medium.Hooks{})
		use(t, r, "s")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		v, _ := m.sessions.Load("s")
		s := v.(*session)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.streams) != 1 || len(s.calls) != 1 || len(s.requests) != 1 || len(s.asks) != 1 || len(s.running) != 1 || s.open != 1 {
			t.Errorf("%d streams, %d calls, %d requests, %d asks, %d running, %d open, want one of each",
				len(s.streams), len(s.calls), len(s.requests), len(s.asks), len(s.running), s.open)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	m := New(state.Limits{})
	defer m.Close()
	r, ctx := m.Store("r", medium.Hooks{}), context.Background()
	if err := r.Create(ctx, &state.Session{ID: "s"}); err != nil {
		b.Fatal(err)
	}
	w, err := statetest.Begin(ctx, r, "s", "st", state.Request{ID: "c"})
	if err != nil {
		b.Fatal(err)
	}
	e := state.Entry{Kind: state.EntryLog, Data: make([]byte, 200)}
	b.ReportAllocs()
	for b.Loop() {
		if err := w[0].Append(ctx, e); err != nil {
			b.Fatal(err)
		}
	}
}
