package runtime

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// beginless is a store whose replies to the beginning of calls are lost.
type beginless struct {
	medium.Store
	lost *atomic.Bool
}

func (s beginless) Commit(ctx context.Context, w *medium.Write) error {
	err := s.Store.Commit(ctx, w)
	if err == nil && len(w.Begin) > 0 && s.lost.Load() {
		return state.ErrUnavailable
	}
	return err
}

// batch posts a batch of calls that return after some time each, and send progress first if sends is true.
func (h *house) batch(r *Replica, ctx context.Context, takes map[string]time.Duration, sends bool) *client {
	g, k := new(Group), &client{h: h}
	r.Init(g, len(takes))
	for _, id := range slices.Sorted(maps.Keys(takes)) {
		h.plans[id] = func(ctx context.Context, _ *medium.Record, send func(float64)) *call.Reply {
			if sends {
				send(1)
			}
			pause(ctx, takes[id])
			return says(id)
		}
		rec := &medium.Record{Session: session}
		rec.ID, rec.RequestID, rec.Round, rec.Attempt, rec.Deadline = id, id, 1, 1, time.Now().Add(time.Minute)
		g.Add(ctx, rec, &testRunner{h: h, id: id})
	}
	r.work.Spawn(func() { g.Serve(ctx, k) })
	return k
}

// A client leaves when one call of its batch has been decided and another runs: both end.
func TestCallsOfABatchThatItsClientLeavesEnd(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(false)
		ctx, leave := context.WithCancel(t.Context())
		h.batch(r, ctx, map[string]time.Duration{"c1": 100 * time.Millisecond, "c2": 300 * time.Millisecond}, false)
		sleep(200 * time.Millisecond)
		leave()
		sleep(200 * time.Millisecond)
		h.wantOver("c1", call.HowEnded)
		h.wantOver("c2", call.HowEnded)
		if ids := r.IDs(); len(ids) > 0 {
			t.Errorf("%v still run", ids)
			for _, id := range ids {
				r.unregister(r.Driver(id)) // Close would wait for them.
			}
		}
	})
}

// A batch is answered with a body, because its beginning seems to have failed. Its records are ended,
// also if one was cancelled at another replica meanwhile.
func TestRecordsOfABatchThatSeemedNotToBeginEnd(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		var lost atomic.Bool
		lost.Store(true)
		h.wrap = func(s medium.Store) medium.Store { return beginless{s, &lost} }
		a, b := h.replica(false), h.replica(false)
		k := h.batch(a, t.Context(), map[string]time.Duration{"c1": time.Second, "c2": time.Second}, true)
		sleep(500 * time.Millisecond)
		if rec, _, _ := h.m.Call("c1"); rec.Batch != 2 {
			t.Fatalf("the record is one of a batch of %d, want 2", rec.Batch)
		}
		b.Cancel(session, "c2", nil)
		h.wantDone("c2")
		sleep(time.Second)
		lost.Store(false)
		sleep(5 * time.Second)
		if !k.hasBody {
			t.Fatal("the batch is not answered with a body")
		}
		h.wantDone("c1")
	})
}
