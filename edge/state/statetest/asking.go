package statetest

import (
	"bytes"
	"encoding/json"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

var asking = []test{
	{"asking is in the log, pending and waiting at once", state.Limits{}, func(w *world) {
		x := w.three()
		x.park("q1", "q2")
		got, _ := w.read(w.b, "s", at{Stream: "st", Epoch: first, Seq: 3}, 0)
		if len(got) != 2 || got[0].Kind != state.EntryRequest || string(got[1].Data) != string(asksOf("q2")[0].Message) {
			w.Fatalf("the log has %+v, want both requests", got)
		}
		// A takeover of the epoch that asked comes too late: the call waits without an owner. A claim by
		// the request id, which cancels the call, succeeds.
		_, err := w.b.Claim(w.Context(), x.which())
		w.want(state.ErrFenced, err)
		c, _ := w.claim(w.b, x.request())
		if c.Phase != state.PhaseWaiting || string(c.State) != "state" {
			w.Errorf("claimed %+v, want it waiting with its state", c)
		}
	}},
	{"answers are set once and only the last one claims", state.Limits{}, setOnce},
	{"an unknown answer does nothing", state.Limits{}, func(w *world) {
		x := w.three()
		w.wantAnswer(w.a, "never", state.AnswerUnknown)
		x.park("q1")
		w.wantAnswer(w.a, "", state.AnswerUnknown)
		w.wantAnswer(w.a, "c", state.AnswerUnknown)
		w.wantAnswer(w.b, "q1", state.AnswerCompleted)
	}},
	{"a new asking replaces the old one", state.Limits{}, func(w *world) {
		x := w.three()
		x.park("q1")
		_, c, err := w.b.Answer(w.Context(), "s", "q1", answer("1"))
		w.must(err)
		y := w.under(w.b, c)
		y.park("q2", "q3")
		w.wantAnswer(w.a, "q1", state.AnswerUnknown)
		w.wantAnswer(w.a, "q3", state.AnswerTaken)
		_, c, err = w.a.Answer(w.Context(), "s", "q2", answer("2"))
		w.must(err)
		if c == nil || c.Request.Round != 3 || len(answered(c)) != 2 || answered(c)[0].ID != "q2" || answered(c)[1].ID != "q3" {
			w.Fatalf("claimed %+v, want round 3 with the answers to q2 and q3", c)
		}
		w.under(w.a, c).finish()
		w.wantAnswer(w.a, "q2", state.AnswerUnknown)
	}},
	{"a cancelled call is not asked about any more", state.Limits{}, func(w *world) {
		x := w.three()
		x.park("q1", "q2")
		w.wantAnswer(w.a, "q2", state.AnswerTaken)
		c, y := w.claim(w.b, medium.ClaimTarget{Session: "s", RequestID: `"c"`})
		if c.Phase != state.PhaseWaiting || len(answered(c)) != 1 || answered(c)[0].ID != "q2" {
			w.Errorf("claimed %+v, want it waiting with one answer", c)
		}
		w.wantAnswer(w.a, "q1", state.AnswerUnknown)
		w.must(w.b.Finish(w.Context(), y.next(), nil))
		w.wantAnswer(w.a, "q1", state.AnswerUnknown)
	}},
	{"two calls of a session wait for their own answers", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		x := w.begin(w.a, "s", "st", "c1", "c2")
		x[0].park("q1")
		w.want(state.ErrExists, w.a.Park(w.Context(), x[1].next(), asksOf("q1"), nil))
		w.must(w.a.Park(w.Context(), x[1].same(), asksOf("q2"), nil))
		_, c, err := w.b.Answer(w.Context(), "s", "q2", answer("2"))
		w.must(err)
		if c == nil || c.Request.ID != "c2" {
			w.Fatalf("claimed %+v, want c2", c)
		}
		w.wantAnswer(w.b, "q1", state.AnswerCompleted)
	}},
	{"URL elicitations are open until their completion is reported", state.Limits{}, elicitations},
}

// outcome answers and compares the outcome.
func (w *world) wantAnswer(s *replica, ask string, want state.AnswerStatus) {
	w.Helper()
	found, err := s.Asking(w.Context(), "s", ask)
	w.must(err)
	got, claim, err := s.Answer(w.Context(), "s", ask, answer("x"))
	w.must(err)
	if taken := got == state.AnswerTaken || got == state.AnswerCompleted; taken != (found != nil) || taken && found.ID != claim.ID {
		w.Fatalf("%q is asked by %+v, and its answer has the outcome %d", ask, found, got)
	}
	if got != want || (claim != nil) != (want == state.AnswerTaken || want == state.AnswerCompleted) {
		w.Fatalf("answer to %q: outcome %d, claim %v, want outcome %d", ask, got, claim, want)
	}
}

func setOnce(w *world) {
	x := w.three()
	x.park("q1", "q2", "q3")
	ctx := w.Context()
	second := answer("second")
	second.Result = json.RawMessage(`{"withdrawn":true}`) // in the words of a client
	buf := bytes.Clone(second.Result)
	for _, step := range []struct {
		s    *replica
		ask  string
		a    state.Answer
		want state.AnswerStatus
	}{
		{w.b, "q2", state.Answer{Result: buf, By: caller("bob")}, state.AnswerTaken},
		{w.a, "q2", answer("again"), state.AnswerDuplicate},
		{w.a, "q3", state.Answer{Error: json.RawMessage(`{"code":-1,"message":"no"}`)}, state.AnswerTaken},
		{w.b, "q2", answer("again"), state.AnswerDuplicate},
	} {
		got, claim, err := step.s.Answer(ctx, "s", step.ask, step.a)
		w.must(err)
		if got != step.want || (claim != nil) != (got == state.AnswerTaken) {
			w.Fatalf("answer to %s: outcome %d, claim %v, want outcome %d", step.ask, got, claim, step.want)
		}
	}
	clear(buf)
	withdrawn := state.Answer{Withdrawn: true, By: caller("bob")}
	out, c, err := w.b.Answer(ctx, "s", "q1", withdrawn)
	w.must(err)
	if out != state.AnswerCompleted || c == nil {
		w.Fatalf("outcome %d, claim %v, want completed", out, c)
	}
	var want []medium.Question
	for i, a := range []state.Answer{withdrawn, second, {Error: json.RawMessage(`{"code":-1,"message":"no"}`)}} {
		want = append(want, medium.Question{Ask: asksOf("q1", "q2", "q3")[i], Answer: &a})
	}
	for i := range c.Asked {
		want[i].Answer.Token = c.Asked[i].Answer.Token
	}
	if d := cmp.Diff(want, c.Asked, equate); d != "" {
		w.Errorf("answers (-want +got):\n%s", d)
	}
	if c.Phase != state.PhaseReady || c.Request.Round != 2 || c.Request.Attempt != 1 || c.Epoch.Counter() != 2 {
		w.Errorf("claimed %+v, want ready, round 2, attempt 1, epoch 2", c)
	}
	w.wantAnswer(w.a, "q1", state.AnswerDuplicate)
	w.under(w.b, c).finish()
}

func elicitations(w *world) {
	x := w.three()
	open := func(w *world, which medium.ClaimTarget, want map[string]string) *writer {
		w.Helper()
		c, y := w.claim(w.b, which)
		if d := cmp.Diff(want, c.Open, equate); d != "" && len(want)+len(c.Open) > 0 {
			w.Fatalf("open elicitations (-want +got):\n%s", d)
		}
		return y
	}
	asks := asksOf("q1", "q2", "q3")
	asks[0].ElicitationID, asks[1].ElicitationID = "e1", "e2"
	w.must(w.a.Park(w.Context(), x.next(), asks, nil))
	y := open(w, x.request(), map[string]string{"key-q1": "e1", "key-q2": "e2"})
	done := notice("done")
	done.Completes = "key-q1"
	y.append(done)
	y = open(w, y.which(), map[string]string{"key-q2": "e2"})
	// The user has not finished at the URL: without asks it stays open.
	w.must(w.b.Park(w.Context(), y.next(), nil, nil))
	y = open(w, y.which(), map[string]string{"key-q2": "e2"})
	asks = asksOf("q4")
	asks[0].ElicitationID = "e4"
	w.must(w.b.Park(w.Context(), y.next(), asks, nil))
	y = open(w, y.request(), map[string]string{"key-q4": "e4"})
	y.finish()
}
