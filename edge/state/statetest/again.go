package statetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// again tests that an operation repeated because its reply was lost has one effect.
var again = []test{
	{"the same answer again with the same token gives the same claim", state.Limits{}, answerAgain},
	{"the same claim again with the same token gives the same lease", state.Limits{}, claimAgain},
	{"the same attachment again with the same token attaches once", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		attach := func(s *replica, token string) uint64 {
			got, err := s.Update(w.Context(), "s", state.Patch{Attach: true, Token: token})
			w.must(err)
			return got.Attachment
		}
		for i, step := range []struct {
			s     *replica
			token string
			want  uint64
		}{{w.a, "t1", 5}, {w.a, "t1", 5}, {w.b, "t2", 6}, {w.a, "", 7}, {w.a, "", 8}} {
			if got := attach(step.s, step.token); got != step.want {
				w.Errorf("step %d: attachment %d, want %d", i, got, step.want)
			}
		}
	}},
	{"a session that was just deleted can be deleted again, and its holders notified", state.Limits{}, func(w *world) {
		third := w.replica("third")
		heard := w.listen(w.a, w.b, third)
		w.session(w.a, "s")
		_, err := w.b.Load(w.Context(), "s")
		w.must(err)
		w.must(w.a.Delete(w.Context(), "s"))
		w.must(w.a.Delete(w.Context(), "s"))
		event := state.SessionEvent{Kind: state.SessionDeleted, Session: "s"}
		w.notify(w.a, event, heard, w.b)
		// After the lost reply the client may repeat the deletion at another replica, which notifies the
		// first one.
		w.must(third.Delete(w.Context(), "s"))
		w.notify(third, event, heard, w.a, w.b)
		w.want(state.ErrNotFound, w.a.Delete(w.Context(), "never"))
		_, err = w.a.Load(w.Context(), "s")
		w.want(state.ErrNotFound, err)
	}},
	{"a claim that nothing follows is an orphan", state.Limits{Lease: short}, func(w *world) {
		w.session(w.a, "s")
		x := w.begin(w.a, "s", "st", "idle", "lost", "used")
		_, lost := w.claim(w.b, x[1].which())
		_, used := w.claim(w.b, x[2].which())
		used.append(notice("1"))
		if o, ok := w.isOrphan(w.a, "lost"); ok {
			w.Fatalf("%+v is an orphan as soon as it is claimed", o)
		}
		w.m.Advance(w.T, 4*w.short)
		w.must(w.a.Beat(w.Context()))
		w.must(w.b.Beat(w.Context()))
		if got := w.orphan(w.a, "lost"); got != lost.which() {
			w.Errorf("orphan %+v, want %+v", got, lost.which())
		}
		for _, id := range []string{"idle", "used"} {
			began := time.Now()
			w.must(w.b.Beat(w.Context()))
			if o, ok := w.isOrphan(w.a, id); ok && time.Since(began) < w.short {
				w.Errorf("%+v is an orphan though its owner lives", o)
			}
		}
		_, heir := w.claim(w.a, lost.which())
		w.want(state.ErrFenced, w.b.Append(w.Context(), lost.next(), notice("late")))
		heir.finish()
	}},
}

func answerAgain(w *world) {
	x := w.three()
	x.park("q1", "q2")
	give := func(s *replica, ask, token string, want state.AnswerStatus) *medium.Record {
		w.Helper()
		a := answer(ask)
		a.Token = token
		got, c, err := s.Answer(w.Context(), "s", ask, a)
		w.must(err)
		if got != want || (c != nil) != (want == state.AnswerTaken || want == state.AnswerCompleted) {
			w.Fatalf("answer to %s under %q: outcome %d, call %v, want outcome %d", ask, token, got, c, want)
		}
		return c
	}
	give(w.b, "q1", "t1", state.AnswerTaken)
	give(w.b, "q1", "t1", state.AnswerTaken)
	give(w.b, "q1", "other", state.AnswerDuplicate)
	first := give(w.b, "q2", "t2", state.AnswerCompleted)
	for range 2 {
		if d := cmp.Diff(first, give(w.b, "q2", "t2", state.AnswerCompleted), equate); d != "" {
			w.Errorf("the claim again (-first +again):\n%s", d)
		}
	}
	give(w.b, "q2", "other", state.AnswerDuplicate)
	// A repeated answer is taken, however late.
	give(w.b, "q1", "t1", state.AnswerTaken)
	give(w.a, "q2", "t2", state.AnswerTaken)
	y := w.under(w.b, first)
	y.append(notice("4"))
	give(w.b, "q2", "t2", state.AnswerTaken)
	y.finish()
	give(w.b, "q2", "t2", state.AnswerUnknown)
	if got, last := w.all(w.a, "s", "st"); len(got) != 7 || !last.Ended {
		w.Errorf("the log is %q, ended %v", got, last.Ended)
	}
}

func claimAgain(w *world) {
	x := w.three()
	twice := func(s *replica, which medium.ClaimTarget) *medium.Record {
		w.Helper()
		first, err := s.Claim(w.Context(), which)
		w.must(err)
		second, err := s.Claim(w.Context(), which)
		w.must(err)
		if d := cmp.Diff(first, second, equate); d != "" {
			w.Fatalf("the claim again (-first +again):\n%s", d)
		}
		return first
	}
	which := x.which()
	which.Random = 7
	c := twice(w.b, which)
	if c.Epoch != first.Next(7) || c.Request.Attempt != 2 || c.Phase != state.PhaseDispatched {
		w.Errorf("claimed %+v, want the second epoch and attempt 2 of a dispatched call", c)
	}
	_, err := w.a.Claim(w.Context(), which)
	w.want(state.ErrFenced, err)
	y := w.under(w.b, c)
	y.park("q1", "q2")
	w.wantAnswer(w.a, "q1", state.AnswerTaken)
	_, err = w.b.Claim(w.Context(), which)
	w.want(state.ErrFenced, err)

	c = twice(w.b, medium.ClaimTarget{Session: "s", RequestID: `"c"`, Random: 8})
	if c.Epoch.Counter() != 3 || c.Phase != state.PhaseWaiting || len(answered(c)) != 1 {
		w.Errorf("claimed %+v, want the third epoch of a waiting call with one answer", c)
	}
	w.wantAnswer(w.a, "q2", state.AnswerUnknown)
	w.must(w.b.Finish(w.Context(), w.under(w.b, c).next(), nil))
	_, err = w.b.Claim(w.Context(), medium.ClaimTarget{Session: "s", RequestID: `"c"`, Random: 8})
	w.want(state.ErrFenced, err)
}
