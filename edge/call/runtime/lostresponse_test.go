package runtime

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// lateStore takes the last step of a call and loses the reply, a second later, the first time.
type lateStore struct {
	medium.Store
	lost *atomic.Bool
}

func (s *lateStore) Commit(ctx context.Context, w *medium.Write) error {
	err := s.Store.Commit(ctx, w)
	if w.Next == medium.NextDone && s.lost.CompareAndSwap(false, true) {
		sleep(time.Second)
		return state.ErrUnavailable
	}
	return err
}

// A client that has a response gets no other one because the store has lost it and then has no room for
// it: its log has that response, and no failure.
func TestOneResponseWithoutRoom(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		var full, lost atomic.Bool
		h.m.Refuse = func(w *medium.Write) error {
			if full.Load() && w.Next == medium.NextDone && !bytes.HasPrefix(w.Entries[len(w.Entries)-1].Data, []byte("failure")) {
				return state.ErrLimit
			}
			return nil
		}
		h.wrap = func(s medium.Store) medium.Store { return &lateStore{s, &lost} }
		k := h.send(h.replica(true), "c", counts(2, time.Second))
		sleep(2500 * time.Millisecond)
		k.want("progress 1 of run 1, progress 2 of run 1, done")
		full.Store(true)
		h.m.Rewind(1)
		h.m.Return()
		sleep(5 * time.Second)
		rec, log, _ := h.m.Call("c")
		if last := &log[len(log)-1]; rec.Phase != state.PhaseDone || len(log) != 3 || string(last.Data) != "done" {
			t.Errorf("the call is in phase %d, with %d entries, the last %q", rec.Phase, len(log), last.Data)
		}
		h.wantOver("c", call.HowEnded)
	})
}
