package statetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// directory tests the views of operators.
var directory = []test{
	{"every session is listed once, by any replica", state.Limits{}, func(w *world) {
		w.list(7)
		var want []string
		for i := range 100 {
			id := fmt.Sprintf("s-%03d", i)
			if i == 50 {
				id = "not plain: {ü}"
			}
			rec := record(id)
			// One principal has most of them, some principals have one, and some sessions are
			// anonymous.
			rec.Principal.Subject = fmt.Sprint("alice", max(0, i-60)%30)
			if i%10 == 0 {
				rec.Principal = mcp.Principal{}
			}
			w.must([]*replica{w.a, w.b}[i%2].Create(w.Context(), rec))
			want = append(want, id)
		}
		for _, size := range []int{1, 7, 1000} {
			w.list(size, want...)
		}
		w.must(w.a.Delete(w.Context(), want[3]))
		w.list(7, slices.Delete(want, 3, 4)...)
	}},
	{"the sessions of a principal are returned by any replica, and no others", state.Limits{}, func(w *world) {
		who := func(i int) (p mcp.Principal) {
			if i > 0 {
				p.Subject, p.Issuer = "alice", fmt.Sprint("issuer", i)
			}
			return p
		}
		all := []mcp.Principal{who(0), who(1), who(2)}
		ids := make([][]string, len(all)+1)
		for i := range 30 {
			id := fmt.Sprintf("s-%03d", i)
			if i == 20 {
				id = "not plain: {ü}"
			}
			rec := record(id)
			rec.Principal = all[i%3]
			w.must([]*replica{w.a, w.b}[i%2].Create(w.Context(), rec))
			ids[i%3] = append(ids[i%3], id)
		}
		w.must(w.a.Delete(w.Context(), ids[1][4]))
		ids[1] = slices.Delete(ids[1], 4, 5)
		for i, p := range append(all, who(3)) {
			got, err := w.b.Of(w.Context(), p)
			w.must(err)
			slices.Sort(got)
			slices.Sort(ids[i])
			if !slices.Equal(got, ids[i]) {
				w.Errorf("of %s %s: %v, want %v", p.Issuer, p.Subject, got, ids[i])
			}
		}
	}},
	{"a sighting is the record, its open calls and its expiry", state.Limits{SessionTTL: time.Hour}, func(w *world) {
		rec := w.session(w.a, "s")
		writers := w.begin(w.a, "s", "st", "c1", "c2", "c3")
		writers[0].finish()
		writers[1].park("ask")
		got, err := w.b.Look(w.Context(), "s")
		w.must(err)
		if d := cmp.Diff(rec, got.Session, equate); d != "" {
			w.Errorf("the record (-want +got):\n%s", d)
		}
		if got.OpenCalls != 2 {
			w.Errorf("%d open calls, want 2", got.OpenCalls)
		}
		// Its calls keep it at least for their own lifetime.
		if left := time.Until(got.Expires); left < time.Hour-patience {
			w.Errorf("it expires in %v, want an hour or more", left)
		}
		page, _, err := w.b.List(w.Context(), "", 10)
		w.must(err)
		if len(page) != 1 || page[0].OpenCalls != 2 {
			w.Errorf("listed: %+v", page)
		}
	}},
	{"to look extends nothing", state.Limits{SessionTTL: short}, func(w *world) {
		for began := time.Now(); ; began = time.Now() {
			w.session(w.a, "s")
			w.m.Advance(w.T, w.short/2)
			_, looked := w.b.Look(w.Context(), "s")
			page, _, err := w.b.List(w.Context(), "", 10)
			w.must(err)
			if time.Since(began) < w.short { // The machine was not so slow that the session may have ended.
				if w.must(looked); len(page) != 1 || page[0].ID != "s" {
					w.Fatalf("listed %v, want the session", page)
				}
				break
			}
			_ = w.a.Delete(w.Context(), "s")
		}
		w.m.Advance(w.T, w.short*3/4)
		_, err := w.b.Look(w.Context(), "s")
		w.want(state.ErrNotFound, err)
		w.list(10)
	}},
	{"to look makes no replica a holder", state.Limits{}, func(w *world) {
		e := w.listen(w.a, w.b)
		w.session(w.a, "s")
		_, err := w.b.Look(w.Context(), "s")
		w.must(err)
		w.list(10, "s")
		w.notify(w.a, state.SessionEvent{Kind: state.SessionChanged, Session: "s"}, e)
	}},
	{"what is not there is not found", state.Limits{}, func(w *world) {
		_, err := w.a.Look(w.Context(), "s")
		w.want(state.ErrNotFound, err)
		w.session(w.a, "s")
		w.must(w.a.Delete(w.Context(), "s"))
		_, err = w.a.Look(w.Context(), "s")
		w.want(state.ErrNotFound, err)
	}},
}

// list pages through all sessions, from replica to replica, and compares their ids.
func (w *world) list(size int, want ...string) {
	w.Helper()
	var got []string
	cursor := ""
	for i := 0; ; i++ {
		page, next, err := []*replica{w.a, w.b}[i%2].List(w.Context(), cursor, size)
		w.must(err)
		if len(page) > size {
			w.Fatalf("a page of %d sessions, at most %d were asked for", len(page), size)
		}
		for _, s := range page {
			got = append(got, s.ID)
		}
		if next == "" {
			break
		}
		cursor = next
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if d := cmp.Diff(want, got, equate); d != "" {
		w.Errorf("sessions in pages of %d (-want +got):\n%s", size, d)
	}
}
