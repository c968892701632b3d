package statetest

import (
	"slices"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// rewinds tests media that lost what they had acknowledged.
var rewinds = []test{
	{"a step that does not follow what there is reports lost writes", state.Limits{}, func(w *world) {
		x := w.three()
		back := w.m.Snapshot(w.T, "s")
		x.append(notice("4"))
		known := *x
		back()
		w.rewound(w.a.Append(w.Context(), x.next(), notice("5")), first, 2)
		if got, _ := w.all(w.b, "s", "st"); len(got) != 3 {
			w.Fatalf("the log is %q, want three entries", got)
		}
		if v := known.restore(true); v != medium.Restored {
			w.Fatalf("verdict %d, want restored", v)
		}
		w.must(w.a.Append(w.Context(), x.same(), notice("5")))
		x.finish()
		w.places(w.b, at{Stream: "st", Epoch: first, Seq: 3},
			medium.Position{Epoch: first, Seq: 4}, medium.Position{Epoch: first, Seq: 5}, medium.Position{Epoch: first, Seq: 6})
	}},
	{"a step of a call that is lost reports that, and the call is given back", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		back := w.m.Snapshot(w.T, "s")
		x := w.begin(w.a, "s", "st", "c")[0]
		x.append(notice("1"), progress(2))
		back()
		_, err := w.b.Read(w.Context(), "s", at{Stream: "st"}, 0)
		w.want(state.ErrNotFound, err)
		w.rewound(w.a.Append(w.Context(), x.next(), notice("3")), 0, 0)
		if v := x.restore(true); v != medium.Restored {
			w.Fatalf("verdict %d, want restored", v)
		}
		if v := x.restore(true); v != medium.AlreadyStored {
			w.Fatalf("verdict %d at the second time, want that it stands", v)
		}
		w.must(w.a.Append(w.Context(), x.same(), notice("3")))
		got, _ := w.all(w.b, "s", "st")
		if !slices.Equal(got, []string{`{"notice":"1"}`, `{"progress":2}`, `{"notice":"3"}`}) {
			w.Errorf("the log is %q", got)
		}
		c, y := w.claim(w.b, x.request())
		if !c.HasProgress || c.Progress != 2 || c.Epoch.Counter() != 2 || c.Start != 3 {
			w.Errorf("claimed %+v, want progress 2 and the third place", c)
		}
		y.finish()
	}},
	// Two replicas take the same call over, each in one history.
	{"two heirs in two histories give no id twice", state.Limits{}, func(w *world) { twoHeirs(w, 2, 1) }},
	{"nor if the second has the higher epoch", state.Limits{}, func(w *world) { twoHeirs(w, 1, 2) }},
	{"of two heirs that run, the higher epoch wins", state.Limits{}, func(w *world) {
		x := w.three()
		back := w.m.Snapshot(w.T, "s")
		lower, higher := x.which(), x.which()
		lower.Random, higher.Random = 1, 2
		_, y := w.claim(w.b, higher)
		y.append(notice("4 of the higher"))
		back()
		_, z := w.claim(w.a, lower)
		z.append(notice("4 of the lower"))
		if v := y.restore(true); v != medium.Restored {
			w.Errorf("verdict %d for the higher, want restored", v)
		}
		w.want(state.ErrFenced, w.a.Append(w.Context(), z.next(), notice("late")))
		if v := z.restore(true); v != medium.Superseded {
			w.Errorf("verdict %d for the lower, want superseded", v)
		}
		y.append(notice("5 of the higher"))
		got, _ := w.all(w.b, "s", "st")
		want := []string{`{"notice":"1"}`, `{"notice":"2"}`, `{"notice":"3"}`, `{"notice":"4 of the higher"}`, `{"notice":"5 of the higher"}`}
		if !slices.Equal(got, want) {
			w.Errorf("the log is %q, want %q", got, want)
		}
		// A reader that has seen the removed entries gets the entries that replaced them.
		w.places(w.a, at{Stream: "st", Epoch: z.rec.Epoch, Seq: 4}, medium.Position{Epoch: y.rec.Epoch, Seq: 4}, medium.Position{Epoch: y.rec.Epoch, Seq: 5})
	}},
	{"an epoch begins behind the places of entries that are lost", state.Limits{}, func(w *world) {
		x := w.three()
		back := w.m.Snapshot(w.T, "s")
		_, y := w.claim(w.b, x.which())
		y.append(notice("4"), notice("5"))
		back()
		y.entries = nil // The owner did not keep its entries.
		if v := y.restore(true); v != medium.Restored {
			w.Fatalf("verdict %d, want restored", v)
		}
		c, z := w.claim(w.a, y.which())
		if got, p := w.all(w.a, "s", "st"); len(got) != 3 || c.Start != 5 || p.Last.Seq != 5 {
			w.Errorf("the log is %q, its last place %d, and the epoch begins behind %d; want three entries and 5 twice", got, p.Last.Seq, c.Start)
		}
		z.append(notice("6"))
		w.places(w.b, at{Stream: "st", Epoch: first, Seq: 3}, medium.Position{Epoch: z.rec.Epoch, Seq: 6})
	}},
	{"answers that were taken in two histories are united, and the call is an orphan", state.Limits{}, func(w *world) {
		x := w.three()
		x.park("q1", "q2")
		back := w.m.Snapshot(w.T, "s")
		_, one, err := w.a.Answer(w.Context(), "s", "q1", answer("1"))
		w.must(err)
		back()
		w.wantAnswer(w.b, "q2", state.AnswerTaken)
		if v := w.under(w.a, one).restore(false); v != medium.Restored {
			w.Fatalf("verdict %d, want restored", v)
		}
		w.wantAnswer(w.b, "q1", state.AnswerDuplicate)
		c, y := w.claim(w.b, w.orphan(w.b, "c"))
		if c.Phase != state.PhaseReady || c.Round != 2 || len(answered(c)) != 2 {
			w.Errorf("claimed %+v, want the second round with both answers", c)
		}
		y.finish()
	}},
	{"what is restored by who does not run it is an orphan", state.Limits{}, func(w *world) {
		x := w.three()
		if o, ok := w.isOrphan(w.b, "c"); ok {
			w.Fatalf("%+v is an orphan though its owner lives", o)
		}
		if v := x.restore(false); v != medium.AlreadyStored {
			w.Fatalf("verdict %d, want that it stands", v)
		}
		if got := w.orphan(w.b, "c"); got != x.which() {
			w.Errorf("orphan %+v, want %+v", got, x.which())
		}
		w.want(state.ErrFenced, w.a.Append(w.Context(), x.next(), notice("4")))
		// A call with another owner, and one that waits for its client, are not orphans.
		y := w.begin(w.a, "s", "st2", "c2")[0]
		z := w.begin(w.a, "s", "st3", "c3")[0]
		z.park("q")
		w.under(w.b, &y.rec).restore(false)
		z.restore(false)
		for _, id := range []string{"c2", "c3"} {
			if o, ok := w.isOrphan(w.b, id); ok {
				w.Errorf("%+v is an orphan", o)
			}
		}
	}},
	{"a call that was cancelled while it waited waits no more once it is restored", state.Limits{}, func(w *world) {
		x := w.three()
		x.park("q")
		back := w.m.Snapshot(w.T, "s")
		which := x.request()
		which.Cancel = true
		_, y := w.claim(w.b, which)
		for _, runs := range []bool{false, true} {
			back()
			if v := y.restore(runs); v != medium.Restored {
				w.Fatalf("verdict %d, want restored", v)
			}
			w.wantAnswer(w.a, "q", state.AnswerUnknown)
			if !runs {
				w.orphan(w.a, "c")
			} else if o, ok := w.isOrphan(w.a, "c"); ok {
				w.Errorf("%+v is an orphan though its owner lives", o)
			}
		}
		y.finish()
	}},
	{"an erased session takes nothing back", state.Limits{}, func(w *world) {
		x := w.three()
		w.must(w.b.Delete(w.Context(), "s"))
		_, err := w.a.Restore(w.Context(), &x.rec, x.entries, true)
		w.want(state.ErrNotFound, err)
	}},
	{"no bound refuses what is given back, and the bounds hold", state.Limits{LogEvents: 3, StreamsPerSession: 1, SessionBytes: beside(4 * kib)}, func(w *world) {
		w.session(w.a, "s")
		back := w.m.Snapshot(w.T, "s")
		x := w.begin(w.a, "s", "st", "c")[0]
		x.append(progress(1), notice("2"), progress(3), notice("4"), notice("5"))
		back()
		big := callOf("big")
		big.Params = make([]byte, 3*kib)
		_, err := w.b.Begin(w.Context(), "s", "other", []state.Request{big})
		w.must(err)
		if v := x.restore(true); v != medium.Restored {
			w.Fatalf("verdict %d, want restored", v)
		}
		w.holds(`{"notice":"2"}`, `{"notice":"4"}`, `{"notice":"5"}`)
		_, err = w.b.Begin(w.Context(), "s", "more", []state.Request{callOf("more")})
		w.want(state.ErrLimit, err)
		x.finish()
	}},
	{"the end of a call is given back with its stream", state.Limits{LogTTL: short}, func(w *world) {
		w.session(w.a, "s")
		back := w.m.Snapshot(w.T, "s")
		x := w.begin(w.a, "s", "st", "c")[0]
		x.append(notice("1"))
		x.finish()
		back()
		if v := x.restore(false); v != medium.Restored {
			w.Fatalf("verdict %d, want restored", v)
		}
		if got, last := w.all(w.b, "s", "st"); len(got) != 2 || !last.Ended || last.Trace != traceOf("c") {
			w.Errorf("the log is %q, ended %v, trace %q", got, last.Ended, last.Trace)
		}
		if o, ok := w.isOrphan(w.b, "c"); ok {
			w.Errorf("%+v is an orphan", o)
		}
		w.m.Advance(w.T, 2*w.short)
		_, err := w.b.Read(w.Context(), "s", at{Stream: "st"}, 0)
		w.want(state.ErrNotFound, err)
	}},
	{"several calls on a stream are given back by each of their owners", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		empty := w.m.Snapshot(w.T, "s")
		x := w.begin(w.a, "s", "st", "c1", "c2")
		x[0].append(notice("1 of c1"))
		x[1].append(notice("1 of c2"))
		half := w.m.Snapshot(w.T, "s")
		_, y := w.claim(w.b, x[1].which())
		y.append(notice("2 of c2"))
		x[0].append(notice("2 of c1"))
		x[0].finish()
		seen := map[medium.Position]string{}
		read := func(want ...string) medium.Page {
			w.Helper()
			entries, last := w.read(w.a, "s", at{Stream: "st"}, 0)
			if got := texts(entries); !slices.Equal(got, want) {
				w.Fatalf("the log is %q, want %q", got, want)
			}
			for i := range entries {
				p := entries[i].Position()
				if was, ok := seen[p]; ok && was != string(entries[i].Data) {
					w.Errorf("the place %+v stood for %s and stands for %s", p, was, entries[i].Data)
				}
				seen[p] = string(entries[i].Data)
			}
			return last
		}
		n := func(text string) string { return string(notice(text).Data) }
		done := string(response("c1"))
		read(n("1 of c1"), n("1 of c2"), n("2 of c2"), n("2 of c1"), done)
		half()
		read(n("1 of c1"), n("1 of c2"))
		for range 2 {
			y.restore(true)
			x[0].restore(false)
		}
		if last := read(n("1 of c1"), n("1 of c2"), n("2 of c2"), n("2 of c1"), done); last.Ended {
			w.Error("the stream has ended, though one of its calls has not")
		}
		empty()
		x[0].restore(false)
		if last := read(n("1 of c1"), n("2 of c1"), done); last.Ended {
			w.Error("the stream has ended, though one of its calls is not known again")
		}
		y.restore(true)
		y.finish()
		if last := read(n("1 of c1"), n("2 of c1"), done, n("2 of c2"), string(response("c2"))); !last.Ended {
			w.Error("the stream has not ended")
		}
	}},
}

// twoHeirs takes a call over in two histories, with the random bits one and other, and checks that no
// event id stands for two entries.
func twoHeirs(w *world, one, other uint32) {
	seen := map[string]string{}
	read := func() {
		entries, _ := w.read(w.b, "s", at{Stream: "st"}, 0)
		for i := range entries {
			id := entries[i].Position().EventID("st")
			if was, ok := seen[id]; ok && was != string(entries[i].Data) {
				w.Errorf("the event id %s stood for %s and stands for %s", id, was, entries[i].Data)
			}
			seen[id] = string(entries[i].Data)
		}
	}
	x := w.three()
	back := w.m.Snapshot(w.T, "s")
	which := x.which()
	which.Random = one
	_, y := w.claim(w.b, which)
	y.append(notice("u"), notice("v"), notice("w"))
	y.finish()
	read()
	known := *y
	back()
	third := w.replica("third")
	which.Random = other
	_, z := w.claim(third, which)
	z.append(notice("x"), notice("y"), notice("z"))
	read()
	// The first heir restores what it knows: the end of a call wins, and the other is fenced.
	if v := known.restore(false); v != medium.Restored {
		w.Errorf("verdict %d for the call's end, want restored", v)
	}
	read()
	if err := third.Finish(w.Context(), z.next(), response("other")); one > other {
		w.want(state.ErrFenced, err)
	} else {
		w.rewound(err, y.rec.Epoch, y.rec.N)
	}
	if got, last := w.all(w.a, "s", "st"); !last.Ended || len(got) != 7 {
		w.Errorf("the log is %q, ended %v, want the first heir's", got, last.Ended)
	}
	if v := z.restore(true); v != medium.Superseded {
		w.Errorf("verdict %d for the other heir, want superseded", v)
	}
	read()
}
