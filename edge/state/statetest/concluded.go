package statetest

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// concluded tests a call whose stream is written in one step.
var concluded = []test{
	{"a call that has ended leaves its whole stream", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		before := []state.Entry{progress(1), notice("2"), {Kind: state.EntryLog, Data: []byte(`{"log":3}`)}}
		conclude := func(s *replica, stream, call string) error {
			return s.Conclude(w.Context(), "s", stream, callOf(call), response(call), before...)
		}
		w.must(conclude(w.a, "st", "c"))
		want := []string{`{"progress":1}`, `{"notice":"2"}`, `{"log":3}`, string(response("c"))}
		for _, s := range []*replica{w.a, w.b} {
			got, last := w.all(s, "s", "st")
			if d := cmp.Diff(want, got, equate); d != "" || !last.Ended || last.Last.Epoch != first || last.Trace != traceOf("c") {
				w.Errorf("ended %v, epoch %d, trace %q (-want +got):\n%s", last.Ended, last.Last.Epoch, last.Trace, d)
			}
			rest, _ := w.read(s, "s", at{Stream: "st", Epoch: first, Seq: 2}, 1)
			if d := cmp.Diff(want[2:], texts(rest), equate); d != "" {
				w.Errorf("resumed (-want +got):\n%s", d)
			}
		}
		// The write is repeated, as after a lost reply.
		w.must(conclude(w.a, "st", "c"))
		if got, _ := w.all(w.b, "s", "st"); len(got) != len(want) {
			w.Errorf("repeated, the log is %q", got)
		}
		w.want(state.ErrExists, conclude(w.a, "st", "other"))
		_, err := w.a.Begin(w.Context(), "s", "st", []state.Request{callOf("c")})
		w.want(state.ErrExists, err)
		w.begin(w.a, "s", "open", "c2")
		w.want(state.ErrExists, conclude(w.b, "open", "c2"))
		// No replica can claim the call, and it is no orphan.
		for _, which := range []medium.ClaimTarget{{Session: "s", Call: "c", Epoch: first}, {Session: "s", RequestID: `"c"`}} {
			if claim, err := w.b.Claim(w.Context(), which); err == nil {
				w.Errorf("claimed %+v", claim)
			}
		}
		if o, ok := w.isOrphan(w.b, "c"); ok {
			w.Errorf("%+v is an orphan", o)
		}
		w.must(w.a.Delete(w.Context(), "s"))
		w.want(state.ErrNotFound, conclude(w.a, "st2", "c3"))
	}},
	{"a call of several that ends with their beginning", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		calls := recordsOf("s", "st", []state.Request{callOf("c1"), callOf("c2")})
		write := &medium.Write{
			Session: "s", Stream: "st", Begin: calls, Call: "c1", Epoch: first, N: 1, Seq: 1, Next: medium.NextDone,
			Entries: ending([]state.Entry{notice("1")}, response("c1")),
		}
		for range 2 {
			w.must(w.a.Commit(w.Context(), write))
		}
		if got, last := w.all(w.b, "s", "st"); len(got) != 2 || last.Ended {
			w.Fatalf("the log is %q, ended %v", got, last.Ended)
		}
		_, err := w.b.Claim(w.Context(), medium.ClaimTarget{Session: "s", Call: "c1"})
		w.want(state.ErrFenced, err)
		w.under(w.a, calls[1]).finish()
		if got, last := w.all(w.b, "s", "st"); len(got) != 3 || !last.Ended {
			w.Errorf("the log is %q, ended %v", got, last.Ended)
		}
	}},
	{"what is refused leaves nothing of what would begin with it", state.Limits{ResultBytes: 100}, func(w *world) {
		w.session(w.a, "s")
		w.begin(w.a, "s", "other", "c0")[0].park("q")
		write := &medium.Write{
			Session: "s", Stream: "st", Begin: recordsOf("s", "st", []state.Request{callOf("c")}), Call: "c", Epoch: first, N: 1, Seq: 1,
			Next: medium.NextWaiting, Asks: asksOf("q"),
		}
		w.want(state.ErrExists, w.a.Commit(w.Context(), write))
		write.State = make([]byte, 101)
		w.want(state.ErrTooLarge, w.a.Commit(w.Context(), write))
		_, err := w.b.Read(w.Context(), "s", at{Stream: "st"}, 0)
		w.want(state.ErrNotFound, err)
		_, err = w.b.Claim(w.Context(), medium.ClaimTarget{Session: "s", Call: "c"})
		w.want(state.ErrNotFound, err)
		write.Asks, write.State = asksOf("q2"), nil
		w.must(w.a.Commit(w.Context(), write))
		w.wantAnswer(w.b, "q2", state.AnswerCompleted)
	}},
	{"a concluded call keeps to the bounds", state.Limits{LogEvents: 3, ResultBytes: 1000, StreamsPerSession: 2}, func(w *world) {
		w.session(w.a, "s")
		conclude := func(stream string, size int, before ...state.Entry) error {
			return w.a.Conclude(w.Context(), "s", stream, callOf("of "+stream), []byte(strings.Repeat("r", size)), before...)
		}
		w.want(state.ErrTooLarge, conclude("st", 1001))
		w.want(state.ErrTooLarge, conclude("st", 1, notice(strings.Repeat("n", 1001))))
		_, err := w.a.Read(w.Context(), "s", at{Stream: "st"}, 0)
		w.want(state.ErrNotFound, err)
		w.must(conclude("st", 1, progress(1), progress(2), notice("3"), progress(4)))
		w.holds(`{"notice":"3"}`, `{"progress":4}`, "r")
		// Calls are concluded beside open streams. The oldest ended streams are dropped.
		w.begin(w.a, "s", "open1", "c1")
		w.begin(w.a, "s", "open2", "c2")
		w.must(conclude("st2", 1))
		w.must(conclude("st3", 1))
		_, err = w.b.Read(w.Context(), "s", at{Stream: "st"}, 0)
		w.want(state.ErrNotFound, err)
		if got, last := w.all(w.b, "s", "st2"); len(got) != 1 || !last.Ended {
			w.Errorf("the log is %q, ended %v", got, last.Ended)
		}
	}},
	{"concluded calls keep to the session's bytes", state.Limits{LogBytes: 1000, ResultBytes: 1000, SessionBytes: beside(2000)}, func(w *world) {
		w.session(w.a, "s")
		for i := range 4 {
			w.must(w.a.Conclude(w.Context(), "s", fmt.Sprint("st", i), callOf(fmt.Sprint("c", i)), []byte(strings.Repeat("r", 900))))
		}
		for i := range 4 {
			_, err := w.b.Read(w.Context(), "s", at{Stream: fmt.Sprint("st", i)}, 0)
			if i < 2 {
				w.want(state.ErrNotFound, err)
			} else {
				w.must(err)
			}
		}
	}},
	{"the stream of a concluded call ends with the others", state.Limits{LogTTL: short}, func(w *world) {
		w.session(w.a, "s")
		w.must(w.a.Conclude(w.Context(), "s", "st", callOf("c"), response("c"), progress(1)))
		_, err := w.b.Read(w.Context(), "s", at{Stream: "st"}, 0)
		w.must(err)
		w.m.Advance(w.T, 2*w.short)
		_, err = w.b.Read(w.Context(), "s", at{Stream: "st"}, 0)
		w.want(state.ErrNotFound, err)
		w.must(w.a.Conclude(w.Context(), "s", "st", callOf("again"), response("again")))
		w.holds(string(response("again")))
	}},
}
