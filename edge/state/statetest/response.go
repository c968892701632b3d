package statetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

var oneResponse = []test{
	{"the response is the last of the call, and of a batch's last call the last of the stream", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		x := w.begin(w.a, "s", "st", "c1", "c2", "c3")
		x[1].finish()
		w.want(state.ErrFenced, w.a.Finish(w.Context(), x[1].next(), response("again")))
		x[0].append(notice("1"))
		x[0].finish()
		if got, last := w.all(w.b, "s", "st"); last.Ended {
			w.Fatalf("the stream ended before its last call: %q", got)
		}
		// Cancelled: the stream ends without an event.
		w.must(w.a.Finish(w.Context(), x[2].next(), nil))
		got, last := w.all(w.b, "s", "st")
		want := []string{string(response("c2")), `{"notice":"1"}`, string(response("c1"))}
		if d := cmp.Diff(want, got, equate); d != "" || !last.Ended {
			w.Errorf("ended %v (-want +got):\n%s", last.Ended, d)
		}
	}},
	{"a response cannot be appended", state.Limits{}, func(w *world) {
		x := w.three()
		err := w.a.Append(w.Context(), x.next(), notice("4"), state.Entry{Kind: state.EntryResponse, Data: response("c")})
		if err == nil {
			w.Fatal("a response was appended")
		}
		if w.a.Append(w.Context(), x.same(), state.Entry{Data: []byte("{}")}) == nil {
			w.Fatal("an entry without a kind was appended")
		}
		x.n--
		x.finish()
		if got, _ := w.all(w.a, "s", "st"); len(got) != 4 {
			w.Errorf("the log is %q, want three notices and the response", got)
		}
	}},
	{"a call that begins in a later round has its state", state.Limits{SessionBytes: beside(22 * kib), ResultBytes: 20 * kib}, func(w *world) {
		w.session(w.a, "s")
		begin := func(stream string, kept ...int) ([]*medium.Record, error) {
			var calls []state.Request
			for i := range kept {
				calls = append(calls, callOf(fmt.Sprint(stream, i)))
			}
			records := recordsOf("s", stream, calls)
			for i, n := range kept {
				records[i].Round, records[i].Attempt, records[i].State, records[i].Resumable = 3, 1, []byte(strings.Repeat("s", n)), i == 0
			}
			return records, w.a.Commit(w.Context(), &medium.Write{Session: "s", Stream: stream, Begin: records})
		}
		records, err := begin("st", 9*kib, 1)
		w.must(err)
		for i, rec := range records {
			c, x := w.claim(w.b, w.under(w.a, rec).which())
			if c.Round != 3 || c.Resumable != (i == 0) || string(c.State) != string(rec.State) || c.Phase != state.PhaseDispatched {
				w.Errorf("call %d: phase %v, round %d with a state of %d bytes, resumable %v", i, c.Phase, c.Round, len(c.State), c.Resumable)
			}
			defer x.finish()
		}
		// The state counts until the call ends.
		_, err = begin("st2", 12*kib)
		w.want(state.ErrLimit, err)
		_, err = begin("st3", 20*kib+1)
		w.want(state.ErrTooLarge, err)
		records, err = begin("st4", 9*kib)
		w.must(err)
		w.under(w.a, records[0]).finish()
		records, err = begin("st5", 9*kib)
		w.must(err)
		x := w.under(w.a, records[0])
		s := x.next() // The state of the next round replaces that of the first.
		s.Next, s.Round, s.State = medium.NextReady, 4, []byte("next")
		w.must(w.a.make(w.Context(), s))
		_, err = begin("st6", 9*kib)
		w.must(err)
	}},
	{"the lost replica's calls are orphans and are finished elsewhere", state.Limits{Lease: short}, lost},
	{"who beats keeps its calls", state.Limits{Lease: short}, func(w *world) {
		x := w.three()
		for range 4 {
			w.m.Advance(w.T, w.short/2)
			w.must(w.a.Beat(w.Context()))
			if o, ok := w.isOrphan(w.b, "c"); ok {
				w.Fatalf("%+v is an orphan though its owner beats", o)
			}
		}
		x.finish()
	}},
	{"leaving releases at once, for good", state.Limits{}, func(w *world) {
		x := w.three()
		w.must(w.a.Leave(w.Context()))
		if got := w.orphan(w.b, "c"); got != x.which() {
			w.Errorf("orphan %+v, want %+v", got, x.which())
		}
		w.want(state.ErrFenced, w.a.Beat(w.Context()))
		w.orphan(w.b, "c")
	}},
	{"takeovers count the replicas that were lost and had not left", state.Limits{Lease: short}, lapses},
	{"a takeover says phase and attempt and what was sent", state.Limits{}, takeover},
	{"a call survives every replica while it waits, and after its answer", state.Limits{Lease: short}, survive},
	{"a call past its deadline is an orphan, waiting too", state.Limits{}, deadline},
	{"a round without asks continues under its lease", state.Limits{}, func(w *world) {
		x := w.three()
		w.must(w.a.Park(w.Context(), x.next(), nil, []byte("later")))
		if _, ok := w.isOrphan(w.b, "c"); ok {
			w.Error("the call is an orphan though its owner lives")
		}
		x.append(notice("4"))
		w.must(w.a.Leave(w.Context()))
		c, y := w.claim(w.b, w.orphan(w.b, "c"))
		if c.Phase != state.PhaseReady || c.Request.Round != 2 || c.Request.Attempt != 1 || string(c.State) != "later" || answered(c) != nil {
			w.Errorf("claimed %+v, want round 2 ready with its state", c)
		}
		y.finish()
	}},
	{"no more orphans than asked for", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		w.begin(w.a, "s", "st", "c1", "c2", "c3")
		w.must(w.a.Leave(w.Context()))
		w.orphan(w.b, "c3")
		for n, want := range []int{0, 1, 2, 3, 3} {
			if list, err := w.b.Orphans(w.Context(), n); err != nil || len(list) != want {
				w.Errorf("%d orphans of at most %d: %v", len(list), n, err)
			}
		}
	}},
}

func lost(w *world) {
	x := w.three()
	w.m.Advance(w.T, 2*w.short)
	w.must(w.b.Beat(w.Context()))
	got, want := w.orphan(w.b, "c"), x.which()
	want.Lapsed = true
	if got.Lost != "" { // A medium that does not know the name leaves it out.
		want.Lost = "a"
	}
	if got != want {
		w.Fatalf("orphan %+v, want %+v", got, want)
	}
	_, y := w.claim(w.b, got)
	if _, ok := w.isOrphan(w.b, "c"); ok {
		w.Error("the call is still an orphan after its takeover")
	}
	// The former owner returns.
	w.must(w.a.Beat(w.Context()))
	w.want(state.ErrFenced, w.a.Finish(w.Context(), x.next(), response("zombie")))
	y.finish()
	w.want(state.ErrFenced, w.a.Append(w.Context(), x.same(), notice("zombie")))
	if got, last := w.all(w.a, "s", "st"); len(got) != 4 || !last.Ended || got[3] != string(response("c")) {
		w.Errorf("the log is %q, ended %v", got, last.Ended)
	}
}

func lapses(w *world) {
	y := w.three()
	at := w.a
	// The owner is lost, or leaves. lapses are those counted since the round began.
	for i, step := range []struct {
		leaves bool
		lapses int
	}{{false, 1}, {true, 1}, {false, 2}} {
		next := w.replica(fmt.Sprint("next", i))
		if step.leaves {
			w.must(at.Leave(w.Context()))
		} else {
			w.m.Advance(w.T, 2*w.short)
			w.must(next.Beat(w.Context()))
		}
		var c *medium.Record
		c, y = w.claim(next, w.orphan(next, "c"))
		if c.Request.Lapses != step.lapses || c.Request.Attempt != i+2 {
			w.Errorf("takeover %d: attempt %d, %d lapses, want attempt %d, %d lapses", i+1, c.Request.Attempt, c.Request.Lapses, i+2, step.lapses)
		}
		y.append(notice("runs")) // A claim without a write may be taken over without a lapse.
		at = next
	}
	// Neither a claim by the owner itself nor a question counts as a loss.
	c, y := w.claim(at, y.which())
	if c.Request.Lapses != 2 {
		w.Errorf("a call that its owner claims has %d lapses, want 2", c.Request.Lapses)
	}
	y.park("q")
	_, c, err := w.b.Answer(w.Context(), "s", "q", answer("x"))
	w.must(err)
	if c.Request.Lapses != 0 || c.Request.Attempt != 1 {
		w.Errorf("the next round begins with attempt %d and %d lapses, want 1 and 0", c.Request.Attempt, c.Request.Lapses)
	}
}

func takeover(w *world) {
	w.session(w.a, "s")
	x := w.begin(w.a, "s", "st", "c")[0]
	x.append(progress(3), progress(7))
	x.append(progress(5))
	owned, err := w.b.Store.Claim(w.Context(), x.which())
	w.must(err)
	c, y := owned.Record, w.under(w.b, owned.Record)
	want := callOf("c")
	want.Attempt = 2
	want.Deadline = c.Request.Deadline
	if d := cmp.Diff(want, c.Request, equate); d != "" {
		w.Errorf("the call (-want +got):\n%s", d)
	}
	if c.Epoch.Counter() != 2 || c.Phase != state.PhaseDispatched || c.Progress != 7 || !c.HasProgress {
		w.Errorf("claimed %+v, want dispatched at the second epoch with progress 7", c)
	}
	if d := cmp.Diff(record("s"), owned.Session, equate); d != "" {
		w.Errorf("the session (-want +got):\n%s", d)
	}
	// The second owner is lost, too: the attempt counts its run.
	if c, y = w.claim(w.a, y.which()); c.Request.Attempt != 3 || c.Phase != state.PhaseDispatched {
		w.Errorf("claimed %+v, want attempt 3", c.Request)
	}
	y.park("q")
	_, c, err = w.b.Answer(w.Context(), "s", "q", answer("x"))
	w.must(err)
	// The owner was lost before it called the backend, so the attempt is still the first.
	if c, y = w.claim(w.a, w.under(w.b, c).which()); c.Phase != state.PhaseReady || c.Request.Attempt != 1 || c.Request.Round != 2 {
		w.Errorf("claimed %+v, want ready, round 2, attempt 1", c)
	}
	if len(answered(c)) != 1 || answered(c)[0].ID != "q" || string(c.State) != "state" {
		w.Errorf("answers %v and state %q are not those of the last asking", answered(c), c.State)
	}
	write := y.next()
	write.Next = medium.NextDispatched
	w.must(w.a.Append(w.Context(), write))
	if c, _ = w.claim(w.b, y.which()); c.Phase != state.PhaseDispatched || c.Request.Attempt != 2 {
		w.Errorf("claimed %+v, want dispatched, attempt 2", c)
	}
	if c, _ = w.claim(w.b, w.begin(w.a, "s", "st2", "c2")[0].which()); c.HasProgress {
		w.Errorf("progress %v that was never sent", c.Progress)
	}
}

func survive(w *world) {
	x := w.three()
	x.park("q1", "q2")
	w.must(w.a.Leave(w.Context()))
	w.m.Advance(w.T, 2*w.short)
	third := w.replica("third")
	if o, ok := w.isOrphan(third, "c"); ok {
		w.Fatalf("%+v waits and has no owner, yet an orphan", o)
	}
	out, _, err := third.Answer(w.Context(), "s", "q2", answer("2"))
	w.must(err)
	if out != state.AnswerTaken {
		w.Fatalf("outcome %d, want taken", out)
	}
	w.m.Advance(w.T, 2*w.short)
	fourth := w.replica("fourth")
	out, c, err := fourth.Answer(w.Context(), "s", "q1", answer("1"))
	w.must(err)
	if out != state.AnswerCompleted || len(answered(c)) != 2 {
		w.Fatalf("outcome %d, claim %+v, want completed with 2 answers", out, c)
	}
	// That replica dies before it calls the backend.
	w.m.Advance(w.T, 2*w.short)
	fifth := w.replica("fifth")
	c, y := w.claim(fifth, w.orphan(fifth, "c"))
	if c.Phase != state.PhaseReady || len(answered(c)) != 2 || string(answered(c)[0].Answer.Result) != string(answer("1").Result) {
		w.Fatalf("claimed %+v, want ready with both answers in the order of the asks", c)
	}
	y.finish()
	if _, last := w.all(fifth, "s", "st"); !last.Ended {
		w.Error("the stream did not end")
	}
}

func deadline(w *world) {
	w.session(w.a, "s")
	runs, waits, free := callOf("runs"), callOf("waits"), callOf("free")
	runs.Deadline = time.Now().Add(w.short)
	waits.Deadline = runs.Deadline
	free.Deadline = time.Time{}
	records, err := w.a.Begin(w.Context(), "s", "st", []state.Request{runs, waits, free})
	w.must(err)
	w.under(w.a, records[1]).park("q")
	w.m.Advance(w.T, 2*w.short)
	w.must(w.a.Beat(w.Context()))
	c, x := w.claim(w.b, w.orphan(w.b, "runs"))
	if c.Phase != state.PhaseDispatched {
		w.Errorf("phase %d of the running call", c.Phase)
	}
	x.finish()
	c, _ = w.claim(w.b, w.orphan(w.b, "waits"))
	if c.Phase != state.PhaseWaiting || len(answered(c)) != 0 {
		w.Errorf("claimed %+v, want it waiting without answers", c)
	}
	// Late questions are closed.
	out, _, err := w.a.Answer(w.Context(), "s", "q", answer("late"))
	w.must(err)
	if out != state.AnswerUnknown {
		w.Errorf("outcome %d of a late answer, want unknown", out)
	}
	// The claimer dies too: only then is the call an orphan again.
	c, x = w.claim(w.a, w.orphan(w.a, "waits"))
	if c.Phase != state.PhaseWaiting || c.Epoch.Counter() != 3 {
		w.Errorf("claimed %+v, want waiting at epoch 3", c)
	}
	x.finish()
	for _, id := range []string{"runs", "waits", "free"} {
		if o, ok := w.isOrphan(w.b, id); ok {
			w.Errorf("%+v is an orphan", o)
		}
	}
}
