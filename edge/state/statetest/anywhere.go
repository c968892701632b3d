package statetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

var anywhere = []test{
	{"a session is the same on every replica", state.Limits{}, func(w *world) {
		rec := w.session(w.a, "s")
		want := *rec
		for _, s := range []*replica{w.a, w.b} {
			got, err := s.Load(w.Context(), "s")
			w.must(err)
			if d := cmp.Diff(&want, got, equate); d != "" {
				w.Errorf("loaded (-want +got):\n%s", d)
			}
		}
		rec.Subscriptions[0] = "changed by its creator"
		got, err := w.b.Load(w.Context(), "s")
		w.must(err)
		if got.Subscriptions[0] != "file:///1" {
			w.Error("the record shares the creator's subscriptions")
		}
		w.want(state.ErrExists, w.b.Create(w.Context(), record("s")))
		if w.b.Create(w.Context(), record("")) == nil {
			w.Error("a session without an id was made")
		}
	}},
	{"patches apply on any replica and a copy never changes", state.Limits{}, patches},
	{"touch returns serials and what is gone", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		w.session(w.b, "gone")
		w.must(w.a.Delete(w.Context(), "gone"))
		_, err := w.a.Update(w.Context(), "s", state.Patch{Attach: true})
		w.must(err)
		got, err := w.b.Touch(w.Context(), []string{"s", "gone", "never"})
		w.must(err)
		if d := cmp.Diff(map[string]uint64{"s": 6}, got, equate); d != "" {
			w.Errorf("serials (-want +got):\n%s", d)
		}
	}},
	{"what one begins, asks, cancels or deletes, another continues", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		x := w.begin(w.a, "s", "st", "c1", "c2")
		x[0].append(notice("1"))
		x[1].park("q")
		if got, _ := w.all(w.b, "s", "st"); len(got) != 2 {
			w.Fatalf("read %q elsewhere, want 2 entries", got)
		}
		out, claim, err := w.b.Answer(w.Context(), "s", "q", answer("x"))
		w.must(err)
		if out != state.AnswerCompleted || claim == nil {
			w.Fatalf("answered elsewhere: outcome %d, claim %v", out, claim)
		}
		w.under(w.b, claim).finish()
		_, y := w.claim(w.b, medium.ClaimTarget{Session: "s", RequestID: `"c1"`})
		w.must(w.b.Finish(w.Context(), y.next(), nil))
		if _, last := w.all(w.a, "s", "st"); !last.Ended {
			w.Error("the stream has not ended for its first owner")
		}
		w.must(w.b.Delete(w.Context(), "s"))
		_, err = w.a.Load(w.Context(), "s")
		w.want(state.ErrNotFound, err)
	}},
	{"a stream reports everywhere which trace its first call began with", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		x := w.begin(w.a, "s", "st", "c1", "c2")
		untraced := callOf("c3")
		untraced.Trace = ""
		_, err := w.a.Begin(w.Context(), "s", "st2", []state.Request{untraced, callOf("c4")})
		w.must(err)
		traces := func(when string) {
			for stream, want := range map[string]string{"st": traceOf("c1"), "st2": ""} {
				p, err := w.b.Read(w.Context(), "s", at{Stream: stream}, 1)
				w.must(err)
				if p.Trace != want {
					w.Errorf("%s the stream %s has the trace %q, want %q", when, stream, p.Trace, want)
				}
			}
		}
		traces("at first")
		x[0].append(notice("1"))
		x[0].finish()
		x[1].finish()
		traces("at the end")
	}},
	{"an erased session is gone for every method", state.Limits{}, gone},
}

func patches(w *world) {
	rec := w.session(w.a, "s")
	var copies, snapshots []*state.Session
	keep := func(s *state.Session) {
		own := *s
		own.Subscriptions = append([]string(nil), s.Subscriptions...)
		copies, snapshots = append(copies, s), append(snapshots, &own)
	}
	before, err := w.a.Load(w.Context(), "s")
	w.must(err)
	keep(before)
	level, digest := mcp.LogError, mcp.Digest{Tools: 9}
	want := *rec
	step := func(s *replica, p state.Patch, change func(*state.Session)) {
		w.Helper()
		next := want
		next.Subscriptions = append([]string(nil), want.Subscriptions...)
		change(&next)
		if want = next; !p.Initialized {
			want.Serial++
		}
		got, err := s.Update(w.Context(), "s", p)
		w.must(err)
		if d := cmp.Diff(&want, got, equate); d != "" {
			w.Fatalf("after %+v (-want +got):\n%s", p, d)
		}
		keep(got)
	}
	// It is initialized already: nothing changes, the serial stays.
	step(w.a, state.Patch{Initialized: true}, func(*state.Session) {})
	step(w.b, state.Patch{LogLevel: &level}, func(s *state.Session) { s.LogLevel = level })
	step(w.a, state.Patch{Subscribe: "u2"}, func(s *state.Session) { s.Subscriptions = append(s.Subscriptions, "u2") })
	step(w.b, state.Patch{Unsubscribe: "file:///1"}, func(s *state.Session) { s.Subscriptions = []string{"u2"} })
	step(w.a, state.Patch{TaskMade: "t1"}, func(s *state.Session) { s.Tasks = []string{"t1"} })
	step(w.b, state.Patch{TaskMade: "t2"}, func(s *state.Session) { s.Tasks = []string{"t1", "t2"} })
	step(w.a, state.Patch{TaskOver: "t1"}, func(s *state.Session) { s.Tasks = []string{"t2"} })
	for i := range state.MaxTasks {
		step(w.b, state.Patch{TaskMade: fmt.Sprint("more", i)}, func(s *state.Session) {
			s.Tasks = append(slices.Clip(s.Tasks), fmt.Sprint("more", i))
			s.Tasks = s.Tasks[max(0, len(s.Tasks)-state.MaxTasks):]
		})
	}
	step(w.a, state.Patch{Digest: &digest}, func(s *state.Session) { s.Digest = digest })
	step(w.b, state.Patch{Attach: true}, func(s *state.Session) { s.Attachment++ })
	until := time.Date(2031, 2, 3, 4, 5, 6, 7, time.UTC)
	earlier, never := until.Add(-time.Nanosecond), time.Time{}
	step(w.a, state.Patch{Until: &until}, func(s *state.Session) { s.Principal.Until = until })
	for _, p := range []state.Patch{{Until: &until}, {Until: &earlier}} {
		got, err := w.b.Update(w.Context(), "s", p)
		w.must(err)
		if got.Serial != want.Serial {
			w.Errorf("patch %+v changes nothing but the serial", p)
		}
	}
	step(w.b, state.Patch{Until: &never}, func(s *state.Session) { s.Principal.Until = never })
	for _, p := range []state.Patch{{Until: &until}, {}, {Subscribe: "u2"}, {Unsubscribe: "never"}, {TaskMade: "more1"}, {TaskOver: "t1"}, {LogLevel: &level}, {Digest: &digest}} {
		got, err := w.a.Update(w.Context(), "s", p)
		w.must(err)
		if got.Serial != want.Serial {
			w.Errorf("patch %+v changes nothing but the serial", p)
		}
	}
	if d := cmp.Diff(snapshots, copies, equate); d != "" {
		w.Errorf("copies were changed (-want +got):\n%s", d)
	}
}

func gone(w *world) {
	w.session(w.a, "s")
	x := w.begin(w.a, "s", "st", "c")[0]
	x.append(notice("1"))
	w.must(w.b.Delete(w.Context(), "s"))
	ctx := w.Context()
	_, err := w.a.Load(ctx, "s")
	w.want(state.ErrNotFound, err)
	_, err = w.a.Update(ctx, "s", state.Patch{Attach: true})
	w.want(state.ErrNotFound, err)
	_, err = w.a.Begin(ctx, "s", "st2", []state.Request{callOf("c2")})
	w.want(state.ErrNotFound, err)
	_, err = w.a.Read(ctx, "s", at{Stream: "st"}, 0)
	w.want(state.ErrNotFound, err)
	w.want(state.ErrNotFound, w.a.Append(ctx, x.same(), notice("1")))
	w.want(state.ErrNotFound, w.a.Append(ctx, x.next(), notice("2")))
	w.want(state.ErrNotFound, w.a.Park(ctx, x.same(), asksOf("q"), nil))
	w.want(state.ErrNotFound, w.a.Finish(ctx, x.same(), response("c")))
	_, _, err = w.a.Answer(ctx, "s", "q", answer("x"))
	w.want(state.ErrNotFound, err)
	_, err = w.a.Claim(ctx, x.which())
	w.want(state.ErrNotFound, err)
	w.must(w.a.Leave(ctx))
	if _, ok := w.isOrphan(w.b, "c"); ok {
		w.Error("an erased call is an orphan")
	}
}
