package tasks

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// forgetful is a store whose acknowledgements of a task's beginning are lost.
type forgetful struct {
	medium.Store
	t *testing.T
	// session is the id of the last created session. begun counts the writes of a beginning. erased
	// is true once the session was deleted.
	session atomic.Pointer[string]
	begun   atomic.Int64
	erased  atomic.Bool
}

func (s *forgetful) Create(ctx context.Context, session *state.Session) error {
	if s.erased.Load() {
		s.t.Errorf("the session %s is created again after it was erased", session.ID)
	}
	s.session.Store(&session.ID)
	return s.Store.Create(ctx, session)
}

func (s *forgetful) Commit(ctx context.Context, w *medium.Write) error {
	err := s.Store.Commit(ctx, w)
	if len(w.Begin) > 0 {
		s.begun.Add(1)
		return errors.Join(state.ErrUnavailable, err)
	}
	return err
}

func (s *forgetful) Delete(ctx context.Context, id string) error {
	s.erased.Store(true)
	return s.Store.Delete(ctx, id)
}

// TestErasedTaskIsNotBegunAgain: a call whose task may have been stored, and that ended without
// one, leaves nothing in the store, and its beginning is not stored again.
func TestErasedTaskIsNotBegunAgain(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["later"] = w.backend.gated(later, true)
		a := w.replica()
		store := &forgetful{Store: a.store, t: t}
		a.store = store
		answered := make(chan map[string]any, 1)
		go func() {
			out, err := a.ask(modern, "alice", mcp.MethodToolsCall, `"name":"later","arguments":{"name":"x"}`)
			if err != nil {
				t.Error(err)
			}
			answered <- out
		}()
		await.Until(t, "the beginning to be stored", func() bool { return store.begun.Load() > 0 })
		close(w.backend.gate("x"))
		if got := await.Receive(t, "the answer", answered); got["resultType"] != "complete" {
			t.Errorf("got %v, want the result", got)
		}
		if err := a.work.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Load(t.Context(), *store.session.Load(), false); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("the session of a task that no client has: error %v", err)
		}
	})
}
