package statetest

import (
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// summaries tests Summaries, which reads the summary of a call without its log.
var summaries = []test{
	{"the summary of a log is that of the last step that had one", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		w.session(w.a, "s2")
		x := w.begin(w.a, "s", "st", "c")[0]
		w.summary("", false)
		x.briefly(medium.Write{Brief: []byte("one"), Entries: []state.Entry{notice("big" + strings.Repeat("x", 100*kib))}})
		w.summary("one", false)
		x.append(progress(1))
		w.summary("one", false)
		x.park("q1", "q2")
		w.summary("one", false, "q1", "q2")
		_, _, err := w.b.Answer(w.Context(), "s", "q1", answer("y"))
		w.must(err)
		w.summary("one", false, "q2")
		_, claimed, err := w.b.Answer(w.Context(), "s", "q2", answer("y"))
		w.must(err)
		w.summary("one", false)
		if string(claimed.Brief) != "one" {
			w.Errorf("the record that was claimed has the summary %q", claimed.Brief)
		}
		y := w.under(w.b, claimed)
		y.briefly(medium.Write{Brief: []byte("two"), Next: medium.NextDone, Entries: []state.Entry{{Kind: state.EntryResponse, Data: response("c")}}})
		w.summary("two", true)
	}},
	{"a summary is restored with its call", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		x := w.begin(w.a, "s", "st", "c")[0]
		back := w.m.Snapshot(w.T, "s")
		x.briefly(medium.Write{Brief: []byte("one"), Next: medium.NextDone, Entries: []state.Entry{{Kind: state.EntryResponse, Data: response("c")}}})
		back()
		w.summary("", false)
		x.restore(false)
		w.summary("one", true)
	}},
}

// briefly makes a step that sets the summary.
func (r *writer) briefly(what medium.Write) {
	r.w.Helper()
	s := r.next()
	s.Brief, s.Next, s.Entries = what.Brief, what.Next, what.Entries
	r.w.must(r.s.make(r.w.Context(), s))
}

// summary compares the summary of stream st in session s. It also reads sessions without the stream,
// and an unknown one.
func (w *world) summary(brief string, ended bool, waits ...string) {
	w.Helper()
	got, err := w.b.Summaries(w.Context(), []string{"none", "s", "s2"}, "st")
	w.must(err)
	if len(got) != 3 || got[0] != nil || got[1] == nil || got[2] != nil {
		w.Fatalf("got %+v, want the second of three", got)
	}
	if g := got[1]; string(g.Brief) != brief || g.Ended != ended || !slices.Equal(g.Waits, waits) || g.Session.ID != "s" {
		w.Errorf("got %+v with the summary %q, want %q, ended %v, waiting for %v", g, g.Brief, brief, ended, waits)
	}
}
