package statetest

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

var bounded = []test{
	{"beyond the count the oldest progress and logs are dropped", state.Limits{LogEvents: 4}, func(w *world) {
		w.session(w.a, "s")
		x := w.begin(w.a, "s", "st", "c")[0]
		x.append(progress(1), notice("pinned"), progress(2), state.Entry{Kind: state.EntryLog, Data: []byte(`{"log":3}`)})
		x.append(progress(4), progress(5))
		w.holds(`{"notice":"pinned"}`, `{"log":3}`, `{"progress":4}`, `{"progress":5}`)
		x.append(notice("a"), notice("b"), notice("c"))
		w.holds(`{"notice":"pinned"}`, `{"notice":"a"}`, `{"notice":"b"}`, `{"notice":"c"}`)
		x.append(progress(6), notice("d"))
		x.finish()
		w.holds(`{"notice":"pinned"}`, `{"notice":"a"}`, `{"notice":"b"}`, `{"notice":"c"}`, `{"notice":"d"}`, string(response("c")))
		// A resume from a dropped entry continues after it.
		got, last := w.read(w.b, "s", at{Stream: "st", Epoch: first, Seq: 3}, 1)
		if len(got) != 5 || !last.Ended {
			w.Errorf("resumed after a dropped entry: %q, ended %v", texts(got), last.Ended)
		}
	}},
	{"beyond the bytes the oldest progress and logs are dropped", state.Limits{LogBytes: 1000, ResultBytes: 10_000}, func(w *world) {
		w.session(w.a, "s")
		x := w.begin(w.a, "s", "st", "c", "c2")
		log := func(c string, n int) state.Entry { return state.Entry{Kind: state.EntryLog, Data: w.data(c, n)} }
		text := func(c string, n int) string { return string(w.data(c, n)) }
		x[0].append(log("a", 400), log("b", 400), log("c", 200))
		w.holds(text("a", 400), text("b", 400), text("c", 200))
		x[0].append(log("d", 100))
		w.holds(text("b", 400), text("c", 200), text("d", 100))
		// An entry larger than the whole log does not displace others.
		x[0].append(log("e", 1001))
		w.holds(text("b", 400), text("c", 200), text("d", 100))
		x[0].append(log("f", 700))
		w.holds(text("c", 200), text("d", 100), text("f", 700))
		big := strings.Repeat("r", 10_000)
		w.must(w.a.Finish(w.Context(), x[0].next(), []byte(big)))
		w.holds(big)
		w.must(w.a.Finish(w.Context(), x[1].next(), []byte(big)))
		w.holds(big, big)
	}},
	{"a dropped progress still counts as sent", state.Limits{LogEvents: 1}, func(w *world) {
		w.session(w.a, "s")
		x := w.begin(w.a, "s", "st", "c")[0]
		x.append(progress(8), notice("1"), notice("2"))
		if c, _ := w.claim(w.b, x.which()); !c.HasProgress || c.Progress != 8 {
			w.Errorf("claimed with progress %v, want 8", c.Progress)
		}
	}},
	{"unfinished streams per session", state.Limits{StreamsPerSession: 2}, func(w *world) {
		w.session(w.a, "s")
		w.session(w.a, "s2")
		x := w.begin(w.a, "s", "st1", "c1")[0]
		w.begin(w.b, "s", "st2", "c2", "c3")
		_, err := w.b.Begin(w.Context(), "s", "st3", []state.Request{callOf("c4")})
		w.want(state.ErrLimit, err)
		w.begin(w.b, "s2", "st3", "c4")
		x.finish()
		w.begin(w.b, "s", "st3", "c4")
	}},
	{"sessions per principal", state.Limits{SessionsPerPrincipal: 2}, func(w *world) {
		w.session(w.a, "s1")
		w.session(w.b, "s2")
		full := record("s3")
		full.Principal.Scopes = nil
		w.want(state.ErrLimit, w.a.Create(w.Context(), full))
		for _, p := range []mcp.Principal{{Subject: "alice", Issuer: "https://other.example"}, {}} {
			for i := range 2 {
				rec := record(fmt.Sprint(p.Issuer, i))
				rec.Principal = p
				w.must(w.a.Create(w.Context(), rec))
			}
			rec := record("more")
			rec.Principal = p
			w.want(state.ErrLimit, w.b.Create(w.Context(), rec))
		}
		w.must(w.b.Delete(w.Context(), "s1"))
		w.must(w.a.Create(w.Context(), full))
	}},
	{"an id that is taken costs no place", state.Limits{SessionsPerPrincipal: 2}, func(w *world) {
		w.session(w.a, "s1")
		w.want(state.ErrExists, w.a.Create(w.Context(), record("s1")))
		w.session(w.a, "s2")
	}},
	{"subscriptions per session", state.Limits{Subscriptions: 2}, func(w *world) {
		w.session(w.a, "s")
		_, err := w.a.Update(w.Context(), "s", state.Patch{Subscribe: "u2"})
		w.must(err)
		level := mcp.LogAlert
		_, err = w.b.Update(w.Context(), "s", state.Patch{Subscribe: "u3", LogLevel: &level, Attach: true})
		w.want(state.ErrLimit, err)
		got, err := w.a.Update(w.Context(), "s", state.Patch{Subscribe: "u2"})
		w.must(err)
		if got.LogLevel == level || got.Attachment != 4 || got.Serial != 6 {
			w.Errorf("a patch beyond the limit was applied in part: %+v", got)
		}
		_, err = w.b.Update(w.Context(), "s", state.Patch{Unsubscribe: "file:///1"})
		w.must(err)
		_, err = w.b.Update(w.Context(), "s", state.Patch{Subscribe: "u3"})
		w.must(err)
	}},
}

// holds compares the whole log of stream st.
func (w *world) holds(want ...string) {
	w.Helper()
	got, _ := w.all(w.b, "s", "st")
	if d := cmp.Diff(want, got, equate); d != "" {
		w.Fatalf("the log (-want +got):\n%s", d)
	}
}
