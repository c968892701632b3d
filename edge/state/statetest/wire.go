package statetest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpedge/mcpedge/edge/state"
)

var logBeforeWire = []test{
	{"ids are unique, a resume at every event has no gap and no duplicate", state.Limits{}, resume},
	{"a position beyond the end is a rollback and no id is used again", state.Limits{}, func(w *world) {
		x := w.three()
		known := state.Position{Stream: "st", Epoch: 1, Seq: 3}
		beyond := state.Position{Stream: "st", Epoch: 1, Seq: 4}
		_, err := w.b.Read(w.Context(), "s", beyond, 0)
		w.want(state.ErrRollback, err)
		entries, page := w.read(w.b, "s", state.Position{Stream: "st"}, 0)
		if len(entries) != 3 || page.Epoch != 2 {
			w.Fatalf("%d entries at epoch %d after the rollback, want 3 at 2", len(entries), page.Epoch)
		}
		x.append(notice("4"), notice("5"))
		if got, _ := w.read(w.a, "s", known, 0); len(got) != 2 || got[0].Seq != 4 {
			w.Fatalf("a position from before the rollback gives %v, want 2 entries", got)
		}
		// The entry that this position named was lost; what has its place now is another one.
		_, err = w.a.Read(w.Context(), "s", beyond, 0)
		w.want(state.ErrRollback, err)
		if _, page = w.read(w.b, "s", state.Position{Stream: "st", Epoch: 2, Seq: 4}, 0); page.Epoch != 2 {
			w.Fatalf("the epoch is %d, want still 2: that loss was known", page.Epoch)
		}
	}},
	{"a position of a newer epoch is a rollback", state.Limits{}, func(w *world) {
		w.three()
		for _, p := range []state.Position{{Stream: "st", Epoch: 7, Seq: 2}, {Stream: "st", Epoch: 20}} {
			_, err := w.b.Read(w.Context(), "s", p, 0)
			w.want(state.ErrRollback, err)
			if _, page := w.read(w.b, "s", state.Position{Stream: "st"}, 0); page.Epoch <= p.Epoch {
				w.Fatalf("the epoch is %d, want above %d", page.Epoch, p.Epoch)
			}
		}
	}},
	{"a position that was made up changes nothing", state.Limits{}, func(w *world) {
		x := w.three()
		for _, epoch := range []uint64{2 + state.MaxAhead, state.MaxPosition, 1<<64 - 1} {
			_, err := w.b.Read(w.Context(), "s", state.Position{Stream: "st", Epoch: epoch, Seq: 1}, 0)
			w.want(state.ErrNotFound, err)
		}
		_, page := w.read(w.b, "s", state.Position{Stream: "st"}, 0)
		if page.Epoch != 1 {
			w.Errorf("the epoch is %d, want still 1", page.Epoch)
		}
		x.append(notice("4"))
		if got, _ := w.read(w.b, "s", state.Position{Stream: "st", Epoch: 1, Seq: 3}, 0); len(got) != 1 {
			w.Errorf("%d entries after the last that was read, want 1", len(got))
		}
	}},
	{"many rollbacks lose no position that is in the log", state.Limits{}, func(w *world) {
		x := w.three()
		for i := range 40 {
			_, err := w.a.Read(w.Context(), "s", state.Position{Stream: "st", Epoch: uint64(i + 1), Seq: 1000}, 0)
			w.want(state.ErrRollback, err)
			x.append(notice(fmt.Sprint(i)))
		}
		for _, p := range []state.Position{{Stream: "st", Epoch: 1, Seq: 3}, {Stream: "st", Epoch: 40, Seq: 42}} {
			if got, page := w.read(w.a, "s", p, 7); uint64(len(got)) != 43-p.Seq || page.Epoch != 41 {
				w.Errorf("%d entries after %v at epoch %d, want %d at 41", len(got), p, page.Epoch, 43-p.Seq)
			}
		}
		_, err := w.a.Read(w.Context(), "s", state.Position{Stream: "st", Epoch: 1, Seq: 4}, 0)
		w.want(state.ErrRollback, err)
	}},
	{"a write that does not follow the last is a rollback", state.Limits{}, func(w *world) {
		x := w.three()
		x.n++
		w.want(state.ErrRollback, w.a.Append(w.Context(), x.next(), notice("lost")))
		entries, page := w.read(w.b, "s", state.Position{Stream: "st"}, 0)
		if len(entries) != 3 || page.Epoch != 2 {
			w.Fatalf("%d entries at epoch %d, want 3 at 2", len(entries), page.Epoch)
		}
		// The owner takes its own call again, and ends it.
		_, x = w.claim(w.a, x.which())
		x.finish()
		if got, last := w.all(w.b, "s", "st"); len(got) != 4 || !last.Ended {
			w.Errorf("the log is %q, ended %v", got, last.Ended)
		}
	}},
	{"a lease ahead of the call's is a rollback", state.Limits{}, func(w *world) {
		x := w.begin2()
		x.park("q")
		// The medium has lost that another replica was given the answer, and the call with it.
		ahead := w.under(w.b, x.Lease)
		ahead.Epoch = 4
		w.want(state.ErrRollback, w.b.Append(w.Context(), ahead.next(), notice("lost")))
		c, y := w.claim(w.b, ahead.which())
		if c.Lease.Epoch != 5 {
			w.Fatalf("the new lease is of epoch %d, want 5", c.Lease.Epoch)
		}
		if outcome, _, err := w.a.Answer(w.Context(), "s", "q", answer("late")); err != nil || outcome != state.AnswerUnknown {
			w.Errorf("an answer is %d, %v; nobody waits for it", outcome, err)
		}
		if _, page := w.read(w.b, "s", state.Position{Stream: "st"}, 0); page.Epoch != 3 {
			w.Errorf("the log is at epoch %d, want 3: the loss and the claim each begin one", page.Epoch)
		}
		// Should this owner be lost too, the call is a dispatched one.
		c, y = w.claim(w.a, y.which())
		if c.Phase != state.PhaseDispatched {
			w.Errorf("claimed in phase %d", c.Phase)
		}
		w.want(state.ErrFenced, w.b.Append(w.Context(), ahead.same(), notice("stale")))
		y.finish()
	}},
	{"a claim begins an epoch of the log, and loses no position", state.Limits{}, func(w *world) {
		x := w.three()
		known := state.Position{Stream: "st", Epoch: 1, Seq: 2}
		for range 20 {
			_, x = w.claim(w.b, x.which())
			x.append(notice("more"))
		}
		if got, page := w.read(w.a, "s", known, 0); len(got) != 21 || page.Epoch != 21 {
			w.Fatalf("%d entries after one from before the claims, at epoch %d, want 21 at 21", len(got), page.Epoch)
		}
		// The entry that this position named was the first owner's, and is lost; what has its place is another's.
		_, err := w.a.Read(w.Context(), "s", state.Position{Stream: "st", Epoch: 1, Seq: 4}, 0)
		w.want(state.ErrRollback, err)
	}},
	{"an unknown stream is not found", state.Limits{}, func(w *world) {
		w.three()
		_, err := w.a.Read(w.Context(), "s", state.Position{Stream: "other", Epoch: 1}, 0)
		w.want(state.ErrNotFound, err)
	}},
}

// three begins session s, stream st, call c, with three entries, on replica a.
func (w *world) three() *writer {
	w.Helper()
	w.session(w.a, "s")
	x := w.begin(w.a, "s", "st", "c")[0]
	x.append(notice("1"), notice("2"))
	x.append(notice("3"))
	return x
}

func resume(w *world) {
	w.session(w.a, "s")
	ids := map[string]bool{}
	for _, stream := range []string{"st1", "st2"} {
		calls := w.begin(w.a, "s", stream, stream+"-c1", stream+"-c2")
		x, y := calls[0], calls[1]
		x.append(progress(1), notice("x"))
		y.append(state.Entry{Kind: state.EntryLog, Data: []byte(`{"log":1}`)})
		y.park(stream + "-q")
		x.append(progress(2))
		x.finish()
		_, c, err := w.a.Answer(w.Context(), "s", stream+"-q", answer("1"))
		w.must(err)
		w.under(w.a, c.Lease).finish()

		all, last := w.read(w.b, "s", state.Position{Stream: stream}, 0)
		want := []state.EntryKind{state.EntryProgress, state.EntryNotice, state.EntryLog, state.EntryRequest,
			state.EntryProgress, state.EntryResponse, state.EntryResponse}
		var kinds []state.EntryKind
		for _, e := range all {
			kinds = append(kinds, e.Kind)
			ids[state.Position{Stream: stream, Epoch: last.Epoch, Seq: e.Seq}.String()] = true
		}
		if d := cmp.Diff(want, kinds, equate); d != "" {
			w.Fatalf("kinds (-want +got):\n%s", d)
		}
		if last.Epoch != 1 || !last.Ended || all[0].Progress != 1 {
			w.Fatalf("epoch %d, ended %v, progress %v", last.Epoch, last.Ended, all[0].Progress)
		}
		for page := range 3 {
			for i := -1; i < len(all); i++ {
				after := state.Position{Stream: stream, Epoch: 1}
				if i >= 0 {
					after.Seq = all[i].Seq
				}
				got, end := w.read(w.b, "s", after, page)
				if d := cmp.Diff(texts(all[i+1:]), texts(got), equate); d != "" || !end.Ended {
					w.Errorf("resumed after %v by pages of %d, ended %v (-want +got):\n%s", after, page, end.Ended, d)
				}
			}
		}
	}
	if len(ids) != 14 {
		w.Errorf("%d different event ids for 14 events", len(ids))
	}
}
