package statetest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

var logBeforeWire = []test{
	{"ids are unique, a resume at every event has no gap and no duplicate", state.Limits{}, func(w *world) { resume(w, "c") }},
	{"so it is with several calls on a stream", state.Limits{}, func(w *world) { resume(w, "c1", "c2") }},
	{"entries have the places that their writer gave them", state.Limits{}, func(w *world) {
		x := w.three()
		x.rec.Last += 4 // places of entries that were dropped or refused
		x.append(notice("8"))
		_, y := w.claim(w.b, x.which())
		y.append(notice("9"))
		want := []medium.Position{{Epoch: first, Seq: 1}, {Epoch: first, Seq: 2}, {Epoch: first, Seq: 3}, {Epoch: first, Seq: 8}, {Epoch: y.rec.Epoch, Seq: 9}}
		w.places(w.a, at{Stream: "st"}, want...)
		for i, p := range want {
			w.places(w.b, at{Stream: "st", Epoch: p.Epoch, Seq: p.Seq}, want[i+1:]...)
		}
		// Positions between two entries, and after the last entry of an epoch.
		w.places(w.b, at{Stream: "st", Epoch: first, Seq: 5}, want[3:]...)
		w.places(w.b, at{Stream: "st", Epoch: first, Seq: 12}, want[4:]...)
	}},
	{"a position beyond the end is ahead, and changes nothing", state.Limits{}, func(w *world) {
		x := w.three()
		beyond := at{Stream: "st", Epoch: first, Seq: 5}
		for range 2 {
			if page := w.page(w.b, beyond); !page.Ahead || page.Ended || len(page.Entries) > 0 || page.Last != (medium.Position{Epoch: first, Seq: 3}) {
				w.Fatalf("the page is %+v, want one that is ahead of the third entry", page)
			}
		}
		// The writer appends until the log has reached the position.
		x.append(notice("4"), notice("5"))
		x.append(notice("6"))
		if got, page := w.read(w.a, "s", beyond, 0); len(got) != 1 || got[0].Seq != 6 || page.Ahead {
			w.Fatalf("%v after a position that the log has come to, want its last entry: %+v", got, page)
		}
		_, x = w.claim(w.b, x.which())
		x.finish()
		later := at{Stream: "st", Epoch: x.rec.Epoch.Next(1), Seq: 1}
		if page := w.page(w.b, later); !page.Ahead || !page.Ended || len(page.Entries) != 1 || page.Entries[0].Kind != state.EntryResponse {
			w.Errorf("the page is %+v, want one that is ahead of a log that has ended, with its response", page)
		}
	}},
	{"a reader that is ahead gets the waiting questions", state.Limits{}, func(w *world) {
		x := w.three()
		x.park("q1", "q2")
		w.wantAnswer(w.b, "q1", state.AnswerTaken)
		page := w.page(w.b, at{Stream: "st", Epoch: first.Next(1), Seq: 9})
		if !page.Ahead || page.Ended || len(page.Entries) != 1 || string(page.Entries[0].Data) != string(asksOf("q2")[0].Message) {
			w.Errorf("the page is %+v, want one that is ahead, with the question that waits", page)
		}
	}},
	{"a reader that is ahead of a batch gets its responses and the waiting questions", state.Limits{}, aheadOfBatch},
	{"two histories never count the same", state.Limits{}, func(w *world) {
		x := w.three()
		back := w.m.Snapshot(w.T, "s")
		_, lost := w.claim(w.b, x.which())
		lost.append(notice("lost 4"), notice("lost 5"))
		back()
		_, kept := w.claim(w.a, x.which())
		kept.append(notice("kept 4"), notice("kept 5"))
		if lost.rec.Epoch == kept.rec.Epoch {
			w.Fatalf("two histories have the epoch %d", kept.rec.Epoch)
		}
		// A reader of one history gets the entries of the other.
		if got, page := w.read(w.b, "s", at{Stream: "st", Epoch: lost.rec.Epoch, Seq: 5}, 0); len(got) != 2 || page.Ahead {
			w.Errorf("a position of another history gives %+v, want two entries: %+v", got, page)
		}
	}},
	{"a position of epochs to come is ahead", state.Limits{}, func(w *world) {
		x := w.three()
		for _, epoch := range []medium.Epoch{first.Next(7), medium.EpochOf(medium.MaxCounter, 1<<32-1)} {
			if page := w.page(w.b, at{Stream: "st", Epoch: epoch, Seq: 2}); !page.Ahead || page.Last.Epoch != first {
				w.Fatalf("the page is %+v, want one that is ahead", page)
			}
		}
		// An invalid epoch changes nothing.
		if page := w.page(w.b, at{Stream: "st", Epoch: 3, Seq: 1}); page.Ahead || len(page.Entries) != 3 {
			w.Errorf("the page is %+v, want the whole log", page)
		}
		x.append(notice("4"))
		if got, _ := w.read(w.b, "s", at{Stream: "st", Epoch: first, Seq: 3}, 0); len(got) != 1 {
			w.Errorf("%d entries after the last that was read, want 1", len(got))
		}
	}},
	{"many claims lose no position that is in the log", state.Limits{}, func(w *world) {
		x := w.three()
		seen := []at{{Stream: "st", Epoch: first, Seq: 3}}
		for i := range 100 {
			_, x = w.claim(w.b, x.which())
			x.append(notice(fmt.Sprint(i)))
			seen = append(seen, at{Stream: "st", Epoch: x.rec.Epoch, Seq: uint64(4 + i)})
		}
		for _, p := range seen {
			if got, page := w.read(w.a, "s", p, 7); uint64(len(got)) != 103-p.Seq || page.Ahead {
				w.Errorf("%d entries after %+v, want %d", len(got), p, 103-p.Seq)
			}
		}
	}},
	{"an unknown stream is not found", state.Limits{}, func(w *world) {
		w.three()
		_, err := w.a.Read(w.Context(), "s", at{Stream: "other", Epoch: first}, 0)
		w.want(state.ErrNotFound, err)
	}},
}

// aheadOfBatch loses the writes of one call of a batch. Another call of the batch continues, and
// reuses the places of the lost entries, which a reader has seen.
func aheadOfBatch(w *world) {
	w.session(w.a, "s")
	x := w.begin(w.a, "s", "st", "c1", "c2", "c3")
	x[0].append(notice("1"))
	back := w.m.Snapshot(w.T, "s")
	lost := *x[0]
	for i := range 5 {
		lost.append(notice(fmt.Sprint("lost ", i)))
	}
	page := w.page(w.a, at{Stream: "st"})
	back()
	x[1].finish()
	x[2].park("q1", "q2")
	w.wantAnswer(w.b, "q1", state.AnswerTaken)
	page = w.page(w.b, at{Stream: "st", Epoch: page.Last.Epoch, Seq: page.Last.Seq})
	var got []string
	for _, e := range page.Entries {
		got = append(got, string(e.Data))
	}
	want := []string{string(response("c2")), string(asksOf("q2")[0].Message)}
	if d := cmp.Diff(want, got); d != "" || !page.Ahead || page.Ended {
		w.Errorf("ahead %v, ended %v (-want +got):\n%s", page.Ahead, page.Ended, d)
	}
}

// places compares the places of the entries after a position.
func (w *world) places(s *replica, after at, want ...medium.Position) {
	w.Helper()
	for page := range 3 {
		var got []medium.Position
		entries, _ := w.read(s, "s", after, page)
		for i := range entries {
			got = append(got, entries[i].Position())
		}
		if len(got)+len(want) > 0 && !cmp.Equal(want, got) {
			w.Errorf("behind %+v by pages of %d (-want +got):\n%s", after, page, cmp.Diff(want, got))
		}
	}
}

// page reads a page of the stream that tests begin.
func (w *world) page(s *replica, after at) medium.Page {
	w.Helper()
	page, err := s.Read(w.Context(), "s", after, 0)
	w.must(err)
	return page
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

// resume has calls on each of two streams, the last of which asks, and reads them from every event.
func resume(w *world, ids ...string) {
	w.session(w.a, "s")
	seen := map[string]bool{}
	for _, stream := range []string{"st1", "st2"} {
		var calls []string
		for _, id := range ids {
			calls = append(calls, stream+id)
		}
		x := w.begin(w.a, "s", stream, calls...)
		last := x[len(x)-1]
		want := 3
		x[0].append(progress(1), notice("x"))
		if x[0] != last {
			x[0].append(progress(2))
			x[0].finish()
			want = 5
		}
		last.append(state.Entry{Kind: state.EntryLog, Data: []byte(`{"log":1}`)})
		last.park(stream + "-q")
		_, c, err := w.a.Answer(w.Context(), "s", stream+"-q", answer("1"))
		w.must(err)
		w.under(w.a, c).finish()

		all, end := w.read(w.b, "s", at{Stream: stream}, 0)
		if len(all) != want+2 || !end.Ended || all[0].Progress != 1 || all[len(all)-1].Epoch.Counter() != 2 {
			w.Fatalf("the log is %+v, ended %v", all, end.Ended)
		}
		for page := range 3 {
			for i := range all {
				seen[all[i].Position().EventID(stream)] = true
				got, end := w.read(w.b, "s", at{stream, all[i].Epoch, all[i].Seq}, page)
				if d := cmp.Diff(texts(all[i+1:]), texts(got), equate); d != "" || i < len(all)-1 && !end.Ended {
					w.Errorf("resumed after %v by pages of %d, ended %v (-want +got):\n%s", all[i].Position(), page, end.Ended, d)
				}
			}
		}
	}
	if n := len(seen); n != 10 && n != 14 {
		w.Errorf("%d different event ids", n)
	}
}
