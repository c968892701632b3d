package statetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

var noStranger = []test{
	// Errors reach logs and spans, and the id of an anonymous caller's session gives access to it.
	{"errors do not have the id of a session", state.Limits{PrincipalBytes: 4 << 10}, func(w *world) {
		const id, other = "ANEVERLOGGEDSESSION000000", "ANEVERLOGGEDSESSION000001"
		w.session(w.a, id)
		_, loaded := w.b.Load(w.Context(), other)
		call := callOf("c")
		call.Params = []byte(`"` + strings.Repeat("x", 8<<10) + `"`)
		_, begun := w.a.Begin(w.Context(), id, "st", []state.Request{call})
		_, early := w.a.Begin(w.Context(), other, "st", []state.Request{call})
		for name, err := range map[string]error{
			"Load": loaded, "Create": w.b.Create(w.Context(), record(id)), "Begin": begun, "Begin in another": early,
			"Delete": w.a.Delete(w.Context(), other),
		} {
			if err == nil || strings.Contains(err.Error(), "ANEVERLOGGED") {
				w.Errorf("%s: error %v, want one without the id", name, err)
			}
		}
	}},
	{"what belongs to one session is not there for another", state.Limits{}, func(w *world) {
		x := w.three()
		x.park("q")
		w.session(w.a, "theirs")
		_, err := w.b.Read(w.Context(), "theirs", at{Stream: "st", Epoch: first}, 0)
		w.want(state.ErrNotFound, err)
		out, claim, err := w.b.Answer(w.Context(), "theirs", "q", answer("x"))
		w.must(err)
		if out != state.AnswerUnknown || claim != nil {
			w.Errorf("outcome %d, claim %v of a stranger's answer", out, claim)
		}
		for _, which := range []medium.ClaimTarget{
			{Session: "theirs", Call: "c", Epoch: first}, {Session: "theirs", RequestID: `"c"`}, {Session: "theirs"},
		} {
			_, err = w.b.Claim(w.Context(), which)
			w.want(state.ErrNotFound, err)
		}
		stolen := x.next()
		stolen.Session = "theirs"
		w.rewound(w.a.Finish(w.Context(), stolen, response("c")), 0, 0)
		// The same ids in another session are other streams and calls.
		w.begin(w.a, "theirs", "st", "c")[0].finish()
		if got, last := w.all(w.b, "s", "st"); len(got) != 4 || last.Ended {
			w.Errorf("the log is %q, ended %v", got, last.Ended)
		}
	}},
	{"a request id is the text of its JSON", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		one, text := callOf("c1"), callOf("c2")
		one.RequestID, text.RequestID = `1`, `"1"`
		_, err := w.a.Begin(w.Context(), "s", "st", []state.Request{one, text})
		w.must(err)
		for id, want := range map[string]string{`1`: "c1", `"1"`: "c2"} {
			if c, _ := w.claim(w.b, medium.ClaimTarget{Session: "s", RequestID: id}); c.Request.ID != want {
				w.Errorf("request %s is call %s, want %s", id, c.Request.ID, want)
			}
		}
	}},
}

// usedAgain uses the session s in each way, times times, at intervals of half its TTL, which is
// w.short. It returns false if three quarters of the TTL passed between two uses, as a use that
// soon follows another one is not recorded.
func usedAgain(w *world, times int) bool {
	w.Helper()
	used := time.Now()
	late := func() bool {
		is := time.Since(used) >= w.short*3/4
		used = time.Now()
		return is
	}
	for range times {
		w.m.Advance(w.T, w.short/2)
		got, err := w.b.Touch(w.Context(), []string{"s"})
		if late() {
			return false
		}
		if err != nil || len(got) != 1 {
			w.Fatalf("touched %v: %v, want the session", got, err)
		}
		w.m.Advance(w.T, w.short/2)
		_, err = w.a.Load(w.Context(), "s")
		if late() {
			return false
		}
		w.must(err)
	}
	return true
}

var noLeak = []test{
	{"a session ends when it is not used", state.Limits{SessionTTL: short, SessionsPerPrincipal: 1}, func(w *world) {
		w.session(w.a, "s")
		for !usedAgain(w, 3) { // the machine was so slow that the session may have ended
			_ = w.a.Delete(w.Context(), "s")
			w.session(w.a, "s")
		}
		w.m.Advance(w.T, 2*w.short)
		if got, err := w.b.Touch(w.Context(), []string{"s"}); err != nil || len(got) != 0 {
			w.Fatalf("touched %v: %v, want nothing", got, err)
		}
		_, err := w.a.Load(w.Context(), "s")
		w.want(state.ErrNotFound, err)
		w.session(w.a, "s")
	}},
	{"to read the serial of a session is no use of it", state.Limits{SessionTTL: short}, func(w *world) {
		w.session(w.a, "s")
		for range 6 {
			got, err := w.b.Serials(w.Context(), []string{"s", "other"})
			w.must(err)
			if _, ok := got["s"]; !ok {
				break
			}
			if len(got) != 1 || got["s"] != 5 {
				w.Fatalf("serials %v, want 5 of s alone", got)
			}
			w.m.Advance(w.T, w.short/2)
		}
		if got, err := w.b.Serials(w.Context(), []string{"s"}); err != nil || len(got) != 0 {
			w.Fatalf("serials %v: %v, want none: the session has ended", got, err)
		}
	}},
	{"a place is free again soon after the TTL, though a call ran long", state.Limits{SessionTTL: 5 * short, SessionsPerPrincipal: 1}, func(w *world) {
		w.session(w.a, "s")
		w.begin(w.a, "s", "st", "c")[0].finish() // its deadline is in an hour
		w.m.Advance(w.T, 10*w.short)
		w.session(w.b, "s2")
	}},
	{"an expired session costs its principal no place", state.Limits{SessionTTL: short, SessionsPerPrincipal: 1}, func(w *world) {
		w.session(w.a, "s")
		w.want(state.ErrLimit, w.a.Create(w.Context(), record("s2")))
		w.m.Advance(w.T, time.Second+2*w.short)
		w.session(w.b, "s2")
	}},
	{"a session outlives its waiting calls", state.Limits{SessionTTL: short}, func(w *world) {
		x := w.three()
		x.park("q")
		w.m.Advance(w.T, 3*w.short)
		out, c, err := w.b.Answer(w.Context(), "s", "q", answer("x"))
		w.must(err)
		if out != state.AnswerCompleted {
			w.Fatalf("outcome %d, want completed", out)
		}
		w.m.Advance(w.T, 3*w.short)
		w.under(w.b, c).finish()
		if _, last := w.all(w.a, "s", "st"); !last.Ended {
			w.Error("the stream did not end")
		}
		w.m.Advance(w.T, 2*w.short)
		_, err = w.a.Read(w.Context(), "s", at{Stream: "st"}, 0)
		w.want(state.ErrNotFound, err)
	}},
	{"a session outlives its open streams", state.Limits{SessionTTL: short, Lease: 20 * short}, func(w *world) {
		w.session(w.a, "s")
		w.begin(w.a, "s", "st", "c")[0].finish()
		_, stop := w.b.Follow("s", "st")
		w.m.Advance(w.T, 3*w.short)
		if _, last := w.all(w.b, "s", "st"); !last.Ended {
			w.Error("the stream did not end")
		}
		stop()
		if got, err := w.a.Touch(w.Context(), []string{"s"}); err != nil || len(got) != 1 {
			w.Fatalf("touched %v: %v, want the session: it was followed until now", got, err)
		}
		w.m.Advance(w.T, 2*w.short)
		_, err := w.a.Load(w.Context(), "s")
		w.want(state.ErrNotFound, err)
	}},
	{"a lost replica's open streams keep nothing", state.Limits{SessionTTL: short, Lease: short}, func(w *world) {
		w.session(w.a, "s")
		_, stop := w.b.Follow("s", "st")
		defer stop()
		w.m.Advance(w.T, 3*w.short)
		_, err := w.replica("third").Load(w.Context(), "s")
		w.want(state.ErrNotFound, err)
	}},
	{"a log ends after its stream", state.Limits{LogTTL: short}, func(w *world) {
		w.session(w.a, "s")
		x := w.begin(w.a, "s", "st", "c1", "c2")
		x[0].finish()
		w.m.Advance(w.T, 2*w.short)
		x[1].finish()
		if got, _ := w.all(w.b, "s", "st"); len(got) != 2 {
			w.Fatalf("the log is %q, want both responses", got)
		}
		w.m.Advance(w.T, 2*w.short)
		_, err := w.b.Read(w.Context(), "s", at{Stream: "st"}, 0)
		w.want(state.ErrNotFound, err)
		w.rewound(w.a.Finish(w.Context(), x[1].same(), response("c2")), 0, 0)
		_, err = w.b.Claim(w.Context(), medium.ClaimTarget{Session: "s", RequestID: `"c1"`})
		w.want(state.ErrNotFound, err)
		_, err = w.b.Load(w.Context(), "s")
		w.must(err)
	}},
	{"a session that is to be kept is, with its logs, and not for ever", state.Limits{SessionTTL: short, LogTTL: short}, func(w *world) {
		rec := record("s")
		rec.Keep = time.Now().Add(8 * w.short)
		w.must(w.a.Create(w.Context(), rec))
		w.begin(w.a, "s", "st", "c")[0].finish()
		w.m.Advance(w.T, 3*w.short)
		for _, s := range []*replica{w.a, w.b} {
			got, err := s.Look(w.Context(), "s")
			w.must(err)
			if !got.Keep.Equal(rec.Keep) || got.Expires.Before(rec.Keep.Add(-time.Second)) {
				w.Errorf("kept until %v, and expires %v, want %v", got.Keep, got.Expires, rec.Keep)
			}
			if got, _ := w.all(s, "s", "st"); len(got) != 1 {
				w.Errorf("the log is %q, want a response", got)
			}
			if ids, err := s.Of(w.Context(), rec.Principal); err != nil || len(ids) != 1 {
				w.Errorf("of its principal there are %v: %v", ids, err)
			}
		}
		w.m.Advance(w.T, 6*w.short)
		_, err := w.b.Look(w.Context(), "s")
		w.want(state.ErrNotFound, err)
		w.session(w.a, "s")
	}},
	{"a request id that is used again finds the younger call", state.Limits{LogTTL: short}, func(w *world) {
		w.session(w.a, "s")
		w.begin(w.a, "s", "st1", "c1")[0].finish()
		younger := callOf("c2")
		younger.RequestID = callOf("c1").RequestID
		_, err := w.a.Begin(w.Context(), "s", "st2", []state.Request{younger})
		w.must(err)
		w.m.Advance(w.T, 2*w.short)
		w.begin(w.a, "s", "st1", "c3")
		if c, _ := w.claim(w.b, medium.ClaimTarget{Session: "s", RequestID: younger.RequestID}); c.Request.ID != "c2" {
			w.Errorf("claimed %s, want c2", c.Request.ID)
		}
	}},
	{"a claim with a latest deadline misses a later call", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		c := w.begin(w.a, "s", "st", "c1")[0]
		before, at := c.rec.Deadline.Add(-time.Millisecond), c.rec.Deadline
		_, err := w.b.Claim(w.Context(), medium.ClaimTarget{Session: "s", RequestID: `"c1"`, Random: 1, Latest: before})
		w.want(state.ErrNotFound, err)
		if _, err = w.b.Claim(w.Context(), medium.ClaimTarget{Session: "s", RequestID: `"c1"`, Random: 1, Latest: at}); err != nil {
			w.Error(err)
		}
	}},
	{"an ended context is an error", state.Limits{}, func(w *world) {
		x := w.three()
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		for name, err := range map[string]error{
			"Create": w.a.Create(ctx, record("s2")), "Delete": w.a.Delete(ctx, "s"), "Beat": w.a.Beat(ctx),
			"Append": w.a.Append(ctx, x.next(), notice("4")), "Notify": w.a.Notify(ctx, state.SessionEvent{Session: "s"}),
		} {
			if !errors.Is(err, context.Canceled) {
				w.Errorf("%s: error %v, want that of the context", name, err)
			}
		}
	}},
}
