package statetest

import (
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

var fenced = []test{
	{"a stale epoch writes nothing", state.Limits{}, func(w *world) {
		x := w.three()
		_, y := w.claim(w.b, x.which())
		w.want(state.ErrFenced, w.a.Append(w.Context(), x.next(), notice("stale")))
		w.want(state.ErrFenced, w.a.Append(w.Context(), x.same(), notice("stale")))
		w.want(state.ErrFenced, w.a.Park(w.Context(), x.same(), asksOf("q"), nil))
		w.want(state.ErrFenced, w.a.Finish(w.Context(), x.same(), response("stale")))
		_, err := w.a.Claim(w.Context(), x.which())
		w.want(state.ErrFenced, err)
		y.finish()
		if got, _ := w.all(w.a, "s", "st"); len(got) != 4 {
			w.Errorf("the log is %q, want three notices and one response", got)
		}
	}},
	{"a lease is of one replica alone", state.Limits{}, func(w *world) {
		x := w.three()
		w.want(state.ErrFenced, w.b.Append(w.Context(), x.same(), notice("3")))
		w.want(state.ErrFenced, w.b.Finish(w.Context(), x.next(), response("c")))
		w.must(w.a.Finish(w.Context(), x.same(), response("c")))
	}},
	{"a done call takes no write and no claim", state.Limits{}, func(w *world) {
		x := w.begin2()
		x.finish()
		w.want(state.ErrFenced, w.a.Append(w.Context(), x.next(), notice("late")))
		w.want(state.ErrFenced, w.a.Park(w.Context(), x.same(), asksOf("q"), nil))
		w.want(state.ErrFenced, w.a.Finish(w.Context(), x.same(), response("late")))
		for _, which := range []medium.ClaimTarget{x.which(), {Session: "s", RequestID: `"c"`}} {
			_, err := w.b.Claim(w.Context(), which)
			w.want(state.ErrFenced, err)
		}
		if got, last := w.all(w.b, "s", "st"); len(got) != 1 || last.Ended {
			w.Errorf("the log is %q, ended %v", got, last.Ended)
		}
	}},
	{"a repeated write is the same write", state.Limits{}, repeated},
	{"what comes before a response is one step with it", state.Limits{ResultBytes: 100}, func(w *world) {
		x := w.begin2()
		big := state.Entry{Kind: state.EntryNotice, Data: make([]byte, 101)}
		before := []state.Entry{notice("1"), {Kind: state.EntryProgress, Data: []byte("2"), Progress: 2}}
		w.want(state.ErrTooLarge, w.a.Finish(w.Context(), x.next(), response("c"), notice("0"), big))
		w.want(state.ErrTooLarge, w.a.Finish(w.Context(), x.same(), big.Data, before...))
		_, y := w.claim(w.b, x.which())
		w.want(state.ErrFenced, w.a.Finish(w.Context(), x.same(), response("c"), before...))
		w.must(w.b.Finish(w.Context(), y.next(), response("c"), before...))
		w.must(w.b.Finish(w.Context(), y.same(), response("c"), before...))
		want := []string{string(before[0].Data), "2", string(response("c"))}
		if got, _ := w.all(w.a, "s", "st"); !slices.Equal(got, want) {
			w.Errorf("the log is %q, want %q", got, want)
		}
	}},
	{"a write too large leaves its number free", state.Limits{ResultBytes: 100}, func(w *world) {
		x := w.three()
		big := make([]byte, 101)
		w.want(state.ErrTooLarge, w.a.Finish(w.Context(), x.next(), big))
		w.want(state.ErrTooLarge, w.a.Append(w.Context(), x.same(), notice("x"), state.Entry{Kind: state.EntryNotice, Data: big}))
		w.want(state.ErrTooLarge, w.a.Park(w.Context(), x.same(), []state.Ask{{ID: "q", Message: big}}, nil))
		w.want(state.ErrTooLarge, w.a.Park(w.Context(), x.same(), asksOf("q"), big))
		w.must(w.a.Finish(w.Context(), x.same(), big[:100]))
		if got, last := w.all(w.b, "s", "st"); len(got) != 4 || !last.Ended {
			w.Errorf("%d entries, ended %v, want 4 and the end", len(got), last.Ended)
		}
	}},
	{"a write without a number, or of another stream, is refused", state.Limits{}, func(w *world) {
		x := w.begin2()
		if err := w.a.Append(w.Context(), x.same(), notice("x")); err == nil {
			w.Error("a write without a number was taken")
		}
		other := x.next()
		other.Stream = "other"
		w.rewound(w.a.Append(w.Context(), other, notice("x")), 0, 0)
		other.Stream, other.Call = "st", "never"
		w.rewound(w.a.Append(w.Context(), other, notice("x")), 0, 0)
		x.append2()
	}},
	{"the lease ends with the parking", state.Limits{}, func(w *world) {
		x := w.begin2()
		x.park("q")
		w.want(state.ErrFenced, w.a.Append(w.Context(), x.next(), notice("x")))
		w.want(state.ErrFenced, w.a.Finish(w.Context(), x.same(), response("c")))
		_, c, err := w.a.Answer(w.Context(), "s", "q", answer("x"))
		w.must(err)
		if c.Epoch.Counter() != 2 {
			w.Fatalf("epoch %d after the answer, want the second", c.Epoch)
		}
		w.want(state.ErrFenced, w.a.Finish(w.Context(), x.same(), response("c")))
		w.under(w.a, c).finish()
	}},
	{"a begun stream is begun once", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		x := w.begin(w.a, "s", "st", "c1", "c2")
		again := w.begin(w.a, "s", "st", "c1", "c2")
		for _, calls := range [][]state.Request{{callOf("c1")}, {callOf("c1"), callOf("c3")}} {
			_, err := w.a.Begin(w.Context(), "s", "st", calls)
			w.want(state.ErrExists, err)
		}
		for _, calls := range [][]state.Request{{callOf("c1")}, {callOf("c3"), callOf("c3")}} {
			_, err := w.a.Begin(w.Context(), "s", "st2", calls)
			w.want(state.ErrExists, err)
		}
		_, err := w.b.Begin(w.Context(), "s", "st", []state.Request{callOf("c1"), callOf("c2")})
		w.want(state.ErrExists, err)
		again[0].finish()
		_, err = w.a.Begin(w.Context(), "s", "st", []state.Request{callOf("c1"), callOf("c2")})
		w.want(state.ErrExists, err)
		x[1].finish()
		for _, bad := range []string{"", "a.b"} {
			if _, err := w.a.Begin(w.Context(), "s", bad, []state.Request{callOf("c9")}); err == nil {
				w.Errorf("a stream of the name %q has event ids that cannot be read", bad)
			}
		}
		if _, err := w.a.Begin(w.Context(), "s", "st3", []state.Request{callOf("")}); err == nil {
			w.Error("a call without an id cannot be written about")
		}
		if _, err := w.a.Begin(w.Context(), "s", "st3", nil); err == nil {
			w.Error("a stream without calls never ends")
		}
	}},
}

// begin2 begins call c beside another, so that the stream does not end with it.
func (w *world) begin2() *writer {
	w.Helper()
	w.session(w.a, "s")
	return w.begin(w.a, "s", "st", "c", "other")[0]
}

// append2 appends under the number of the last write, which was refused.
func (r *writer) append2() {
	r.w.Helper()
	r.w.must(r.s.Append(r.w.Context(), r.same(), notice("x")))
}

func repeated(w *world) {
	x := w.begin2()
	ctx := w.Context()
	x.append(notice("1"))
	w.must(w.a.Append(ctx, x.same(), notice("1")))
	first := x.same()
	x.append(notice("2"))
	w.must(w.a.Append(ctx, first, notice("1")))
	x.park("q1", "q2")
	w.must(w.a.Park(ctx, x.same(), asksOf("q1", "q2"), []byte("state")))
	out, _, err := w.b.Answer(ctx, "s", "q1", answer("1"))
	w.must(err)
	// The repetition does not ask again.
	w.must(w.a.Park(ctx, x.same(), asksOf("q1", "q2"), []byte("state")))
	out2, c, err := w.b.Answer(ctx, "s", "q2", answer("2"))
	w.must(err)
	if out != state.AnswerTaken || out2 != state.AnswerCompleted {
		w.Fatalf("outcomes %d and %d, want taken and completed", out, out2)
	}
	y := w.under(w.b, c)
	y.finish()
	w.must(w.b.Finish(ctx, y.same(), response("c")))
	w.must(w.b.Finish(ctx, y.same(), response("another")))
	want := []string{`{"notice":"1"}`, `{"notice":"2"}`, string(asksOf("q1")[0].Message), string(asksOf("q2")[0].Message), string(response("c"))}
	got, _ := w.all(w.a, "s", "st")
	if d := cmp.Diff(want, got, equate); d != "" {
		w.Errorf("the log (-want +got):\n%s", d)
	}
}
