package tasks

import (
	"context"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// slow is a store that lets a session be made only after one was deleted, or after a while in which none was.
type slow struct {
	medium.Store
	begun, deleted chan struct{}
}

func (s *slow) Create(ctx context.Context, session *state.Session) error {
	close(s.begun)
	select {
	case <-s.deleted:
	case <-time.After(200 * time.Millisecond):
	}
	return s.Store.Create(ctx, session)
}

func (s *slow) Delete(ctx context.Context, id string) error {
	err := s.Store.Delete(ctx, id)
	close(s.deleted)
	return err
}

// TestWhatIsErasedIsNotBegunAgain: the beginning of a task that is on its way to the store while the call ends without one does not come
// there after it was erased.
func TestWhatIsErasedIsNotBegunAgain(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["later"] = w.backend.gated(later, true)
		a := w.replica()
		store := &slow{a.store, make(chan struct{}), make(chan struct{})}
		a.store = store
		x, err := a.execution(t.Context(), modern, requestOf(t, modern, "alice", mcp.MethodToolsCall, `"name":"later"`), &mcp.Target{Backend: "b", Known: true, Tasks: later})
		if err != nil {
			t.Fatal(err)
		}
		x.over = make(chan struct{})
		x.isTask.Store(true)
		written, erased := make(chan error, 1), make(chan struct{})
		record := x.record()
		x.fill(record)
		go func() {
			written <- sessions{store, a.Tasks}.Commit(t.Context(), &medium.Write{Session: record.Session, Begin: []*medium.Record{record}})
		}()
		await.Receive(t, "the beginning to be written", store.begun)
		x.discard()
		close(x.over)
		go func() {
			x.eraseUnknown()
			close(erased)
		}()
		await.Receive(t, "the beginning to be written", written) // whatever became of it
		await.Receive(t, "what there is to be erased", erased)
		if _, err := store.Load(t.Context(), x.session.ID, false); err == nil {
			t.Error("the session of a task that nobody has is there")
		}
	})
}
