package statetest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpedge/mcpedge/edge/state"
)

var logBeforeWire = []test{
	{"ids are unique, a resume at every event has no gap and no duplicate", state.Limits{}, resume},
	{"a position beyond the end is ahead, and changes nothing", state.Limits{}, func(w *world) {
		x := w.three()
		beyond := state.Position{Stream: "st", Epoch: state.FirstEpoch, Seq: 5}
		for range 2 {
			if page := w.page(w.b, beyond); !page.Ahead || page.Ended || len(page.Entries) > 0 || page.Epoch != state.FirstEpoch {
				w.Fatalf("the page is %+v, want one that is ahead, at the first epoch", page)
			}
		}
		// Whoever wrote what is lost repeats it: the log reaches the position again.
		x.append(notice("4"), notice("5"))
		x.append(notice("6"))
		if got, page := w.read(w.a, "s", beyond, 0); len(got) != 1 || got[0].Seq != 6 || page.Rewound || page.Ahead {
			w.Fatalf("%v after a position that the log has come to, want its last entry: %+v", got, page)
		}
		_, x = w.claim(w.b, x.which())
		x.finish()
		if page := w.page(w.b, state.Position{Stream: "st", Epoch: state.NextEpoch(x.epoch(), 1), Seq: 1}); !page.Ahead || !page.Ended {
			w.Errorf("the page is %+v, want one that is ahead of a log that has ended", page)
		}
	}},
	{"a position whose entry was lost begins again once there is a claim", state.Limits{}, func(w *world) {
		x := w.three()
		known := state.Position{Stream: "st", Epoch: state.FirstEpoch, Seq: 3}
		lost := state.Position{Stream: "st", Epoch: state.FirstEpoch, Seq: 4}
		_, x = w.claim(w.b, x.which())
		x.append(notice("4"), notice("5"))
		if got, page := w.read(w.a, "s", known, 0); len(got) != 2 || got[0].Seq != 4 || page.Rewound {
			w.Fatalf("a position from before the claim gives %v, want 2 entries: %+v", got, page)
		}
		// What has the place that this position named is another entry.
		page := w.page(w.a, lost)
		if !page.Rewound || page.Ahead || len(page.Entries) != 5 || page.Epoch != x.epoch() {
			w.Fatalf("the page is %+v, want the whole log, rewound", page)
		}
		if page = w.page(w.b, state.Position{Stream: "st", Epoch: page.Epoch, Seq: 5}); page.Rewound || !page.AtEnd || len(page.Entries) > 0 {
			w.Fatalf("the page is %+v, want nothing more", page)
		}
	}},
	// Each session stands for one of two histories of a medium that went back to before the claim, or the answer.
	{"two histories never count the same", state.Limits{}, func(w *world) {
		for name, claim := range map[string]func(session string, x *writer) *writer{
			"a takeover": func(_ string, x *writer) *writer {
				_, y := w.claim(w.b, x.which())
				return y
			},
			"an answer": func(session string, x *writer) *writer {
				x.park(x.Call + "q")
				_, c, err := w.b.Answer(w.Context(), session, x.Call+"q", answer("1"))
				w.must(err)
				return w.under(w.b, c.Lease)
			},
		} {
			var ends []state.Position
			var leases []state.Lease
			for _, history := range []string{"lost", "kept"} {
				session := history + name
				w.session(w.a, session)
				x := claim(session, w.begin(w.a, session, "st", "c")[0])
				x.append(notice(history+" 1"), notice(history+" 2"))
				entries, page := w.read(w.a, session, state.Position{Stream: "st"}, 0)
				ends = append(ends, state.Position{Stream: "st", Epoch: page.Epoch, Seq: entries[len(entries)-1].Seq})
				leases = append(leases, x.Lease)
			}
			if ends[0] == ends[1] || leases[0].Epoch == leases[1].Epoch {
				w.Errorf("%s: two histories have the event id %v and the lease %+v", name, ends[0], leases[0])
			}
			page, err := w.b.Read(w.Context(), "kept"+name, ends[0], 0)
			w.must(err)
			if !page.Rewound || uint64(len(page.Entries)) != ends[1].Seq {
				w.Errorf("%s: a position of another history gives %+v, want the whole log, rewound", name, page)
			}
		}
	}},
	{"a position of epochs to come is ahead", state.Limits{}, func(w *world) {
		w.three()
		for _, epoch := range []uint64{state.NextEpoch(1, 7), state.MaxAhead << 32} {
			if page := w.page(w.b, state.Position{Stream: "st", Epoch: epoch, Seq: 2}); !page.Ahead || page.Epoch != state.FirstEpoch {
				w.Fatalf("the page is %+v, want one that is ahead, at the first epoch", page)
			}
		}
	}},
	{"a position that was made up changes nothing", state.Limits{}, func(w *world) {
		x := w.three()
		for _, epoch := range []uint64{(1 + state.MaxAhead) << 32, state.MaxPosition, 1<<64 - 1} {
			_, err := w.b.Read(w.Context(), "s", state.Position{Stream: "st", Epoch: epoch, Seq: 1}, 0)
			w.want(state.ErrNotFound, err)
		}
		// As releases before counted.
		if page := w.page(w.b, state.Position{Stream: "st", Epoch: 3, Seq: 1}); !page.Rewound || page.Epoch != state.FirstEpoch {
			w.Errorf("the page is %+v, want the whole log, rewound", page)
		}
		x.append(notice("4"))
		if got, _ := w.read(w.b, "s", state.Position{Stream: "st", Epoch: state.FirstEpoch, Seq: 3}, 0); len(got) != 1 {
			w.Errorf("%d entries after the last that was read, want 1", len(got))
		}
	}},
	{"many claims lose no position that is in the log", state.Limits{}, func(w *world) {
		x := w.three()
		at := []state.Position{{Stream: "st", Epoch: state.FirstEpoch, Seq: 3}}
		for i := range 60 {
			_, x = w.claim(w.b, x.which())
			x.append(notice(fmt.Sprint(i)))
			at = append(at, state.Position{Stream: "st", Epoch: x.epoch(), Seq: uint64(4 + i)})
		}
		for _, p := range at {
			got, page := w.read(w.a, "s", p, 7)
			if uint64(len(got)) != 63-p.Seq || page.Rewound || state.EpochCounter(page.Epoch) != 60 {
				w.Errorf("%d entries after %v at epoch %d, want %d", len(got), p, page.Epoch, 63-p.Seq)
			}
		}
		for range 10 { // What the log no longer knows begins again.
			_, x = w.claim(w.b, x.which())
		}
		if page := w.page(w.a, at[0]); !page.Rewound || len(page.Entries) != 63 {
			w.Errorf("the page is %+v, want the whole log, rewound", page)
		}
	}},
	{"a write that does not follow the last is a rollback", state.Limits{}, func(w *world) {
		x := w.three()
		x.n++
		w.want(state.ErrRollback, w.a.Append(w.Context(), x.next(), notice("lost")))
		entries, page := w.read(w.b, "s", state.Position{Stream: "st"}, 0)
		if len(entries) != 3 || page.Epoch != state.FirstEpoch {
			w.Fatalf("%d entries at epoch %d, want 3 at the first", len(entries), page.Epoch)
		}
		// The owner takes its own call again, and ends it.
		_, x = w.claim(w.a, x.which())
		x.finish()
		if got, last := w.all(w.b, "s", "st"); len(got) != 4 || !last.Ended || state.EpochCounter(last.Epoch) != 1 {
			w.Errorf("the log is %q, ended %v, epoch %d", got, last.Ended, last.Epoch)
		}
	}},
	{"a lease ahead of the call's is a rollback", state.Limits{}, func(w *world) {
		x := w.begin2()
		x.park("q")
		// The medium has lost that another replica was given the answer, and the call with it.
		ahead := w.under(w.b, x.Lease)
		ahead.Epoch = state.NextEpoch(state.NextEpoch(x.Epoch, 5), 4)
		w.want(state.ErrRollback, w.b.Append(w.Context(), ahead.next(), notice("lost")))
		c, y := w.claim(w.b, ahead.which())
		if state.EpochCounter(c.Lease.Epoch) != 3 {
			w.Fatalf("the new lease is of epoch %d, want the third behind the first", c.Lease.Epoch)
		}
		if outcome, _, err := w.a.Answer(w.Context(), "s", "q", answer("late")); err != nil || outcome != state.AnswerUnknown {
			w.Errorf("an answer is %d, %v; nobody waits for it", outcome, err)
		}
		if _, page := w.read(w.b, "s", state.Position{Stream: "st"}, 0); state.EpochCounter(page.Epoch) != 1 {
			w.Errorf("the log is at epoch %d, want the one that the claim begins", page.Epoch)
		}
		// Should this owner be lost too, the call is a dispatched one.
		c, y = w.claim(w.a, y.which())
		if c.Phase != state.PhaseDispatched {
			w.Errorf("claimed in phase %d", c.Phase)
		}
		w.want(state.ErrFenced, w.b.Append(w.Context(), ahead.same(), notice("stale")))
		y.finish()
	}},
	{"an unknown stream is not found", state.Limits{}, func(w *world) {
		w.three()
		_, err := w.a.Read(w.Context(), "s", state.Position{Stream: "other", Epoch: 1}, 0)
		w.want(state.ErrNotFound, err)
	}},
}

// page reads a page of the stream that tests begin.
func (w *world) page(s state.Store, after state.Position) state.Page {
	w.Helper()
	page, err := s.Read(w.Context(), "s", after, 0)
	w.must(err)
	return page
}

// epoch is that of the writer's log.
func (r *writer) epoch() uint64 {
	r.w.Helper()
	page, err := r.s.Read(r.w.Context(), r.Session, state.Position{Stream: r.Stream}, 1)
	r.w.must(err)
	return page.Epoch
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
		before, _ := w.read(w.b, "s", state.Position{Stream: stream}, 0)
		claimed := uint64(len(before))
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
		if state.EpochCounter(last.Epoch) != 1 || !last.Ended || all[0].Progress != 1 {
			w.Fatalf("epoch %d, ended %v, progress %v", last.Epoch, last.Ended, all[0].Progress)
		}
		for page := range 3 {
			for i := -1; i < len(all); i++ {
				after := state.Position{Stream: stream, Epoch: last.Epoch}
				if i >= 0 {
					after.Seq = all[i].Seq
				}
				if after.Seq <= claimed {
					after.Epoch = state.FirstEpoch
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
