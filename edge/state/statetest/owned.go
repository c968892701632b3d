package statetest

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// owned tests that all that one caller keeps is bounded.
var owned = []test{
	{"the sessions of a caller keep no more than it may", state.Limits{PrincipalBytes: 64 * kib}, func(w *world) {
		w.session(w.a, "s")
		var ids []string
		for i := 0; ; i++ {
			id := fmt.Sprint("s", i)
			rec := record(id)
			if err := w.b.Create(w.Context(), rec); err != nil {
				w.wantOwned(err, 64*kib)
				break
			}
			ids = append(ids, id)
			if err := w.fill(id, 8*kib, time.Hour); err != nil {
				w.wantOwned(err, 64*kib)
				break
			}
		}
		// A session is lent at most an eighth of the bound more than it needs.
		if n := len(ids); n < 6 || n > 8 {
			w.Errorf("%d sessions with 8 KiB fit into 64 KiB", n)
		}
		other := record("other")
		other.Principal = caller("bob")
		w.must(w.a.Create(w.Context(), other))
		w.must(w.fill("other", 32*kib, time.Hour))
		w.must(w.a.Delete(w.Context(), ids[0]))
		w.must(w.a.Delete(w.Context(), ids[1]))
		w.must(w.fill("s", 8*kib, time.Hour))
	}},
	{"a response that is more than its caller may keep is refused, a short one is not", state.Limits{PrincipalBytes: 64 * kib}, func(w *world) {
		w.session(w.a, "s")
		x, err := w.beginBig(0)
		w.must(err)
		w.wantOwned(w.a.Finish(w.Context(), x.next(), make([]byte, 80*kib)), 64*kib)
		for i := 1; ; i++ {
			if _, err := w.beginBig(i); err != nil {
				w.wantOwned(err, 64*kib)
				break
			}
		}
		w.must(w.a.Finish(w.Context(), x.next(), make([]byte, 2*kib)))
	}},
	{"a response that may have been lost is restored, also where its caller may keep no more", state.Limits{PrincipalBytes: 64 * kib}, func(w *world) {
		w.session(w.a, "s")
		w.session(w.b, "o")
		x, err := w.beginBig(0)
		w.must(err)
		w.must(w.fill("o", 32*kib, time.Hour))
		last := x.next().Write
		last.Next, last.Entries = medium.NextDone, []state.Entry{{Kind: state.EntryResponse, Data: make([]byte, 40*kib)}}
		w.wantOwned(w.a.Commit(w.Context(), &last), 64*kib)
		x.rec.Apply(&last)
		x.entries = last.Placed()
		if v := x.restore(true); v != medium.Restored {
			w.Errorf("verdict %d, want restored", v)
		}
		if got, page := w.all(w.b, "s", x.rec.Stream); len(got) != 1 || !page.Ended {
			w.Errorf("the log has %d entries and ended: %v; want the response, and true", len(got), page.Ended)
		}
		if v := x.restore(true); v != medium.AlreadyStored {
			w.Errorf("verdict %d at the second time, want that it stands", v)
		}
	}},
	{"what may be dropped of logs is dropped where its caller keeps too much", state.Limits{PrincipalBytes: 64 * kib}, func(w *world) {
		calls := w.chatty("s", 20)
		for range 10 {
			for _, x := range calls {
				x.append(state.Entry{Kind: state.EntryLog, Data: make([]byte, 7*kib)}, state.Entry{Kind: state.EntryLog, Data: make([]byte, kib)})
			}
		}
		if kept := w.logged(calls); kept == 0 || kept > 64*kib {
			w.Errorf("%d logs of a caller keep %d bytes of at most %d", len(calls), kept, 64*kib)
		}
		// Another caller is not affected. Short ends of calls are accepted beyond the bound.
		other := record("other")
		other.Principal = caller("bob")
		w.must(w.a.Create(w.Context(), other))
		w.must(w.fill("other", 32*kib, time.Hour))
		for _, x := range calls {
			w.must(w.a.Finish(w.Context(), x.next(), make([]byte, 100)))
		}
		for _, x := range calls {
			w.must(w.a.Delete(w.Context(), x.rec.Session))
		}
		// All bytes were released. The newest entries are kept.
		x := w.chatty("t", 1)[0]
		for i := range 10 {
			x.append(state.Entry{Kind: state.EntryLog, Data: []byte(strings.Repeat(string(rune('a'+i)), 10*kib))})
		}
		w.logOf(x, "efghij")
		x.append(state.Entry{Kind: state.EntryNotice, Data: []byte(strings.Repeat("N", 3*kib))})
		w.logOf(x, "fghijN")
	}},
	{"several entries at once are dropped where their caller keeps too much", state.Limits{PrincipalBytes: 64 * kib}, func(w *world) {
		x := w.chatty("s", 1)[0]
		var log []state.Entry
		for i := range 20 {
			log = append(log, state.Entry{Kind: state.EntryLog, Data: []byte(strings.Repeat(string(rune('a'+i)), 10*kib))})
		}
		x.append(log...)
		w.logOf(x, "opqrst")
		// A Restore does not bring dropped entries back.
		x.restore(true)
		w.logOf(x, "opqrst")
		w.must(w.a.Finish(w.Context(), x.next(), []byte("R"), log[:10]...))
		w.logOf(x, "efghijR")
	}},
	{"a question, an answer and a subscription are counted", state.Limits{PrincipalBytes: 64 * kib}, func(w *world) {
		w.session(w.a, "s")
		x, err := w.beginBig(0)
		w.must(err)
		asks := asksOf("q1")
		asks[0].Message = make([]byte, 80*kib)
		w.wantOwned(w.a.Park(w.Context(), x.next(), asks, nil), 64*kib)
		w.must(w.a.Park(w.Context(), x.next(), asksOf("q1"), nil))
		big := answer("x")
		big.Result = make([]byte, 80*kib)
		_, _, err = w.b.Answer(w.Context(), "s", "q1", big)
		w.wantOwned(err, 64*kib)
		out, _, err := w.b.Answer(w.Context(), "s", "q1", answer("y"))
		w.must(err)
		if out != state.AnswerCompleted {
			w.Errorf("an answer that fits: %v", out)
		}
		_, err = w.a.Update(w.Context(), "s", state.Patch{Subscribe: "x://" + string(make([]byte, 80*kib))})
		w.wantOwned(err, 64*kib)
	}},
	{"what ends, expires or is left by replicas that died is given back", state.Limits{PrincipalBytes: 64 * kib, SessionTTL: short, LogTTL: short, Lease: short}, func(w *world) {
		for round := range 3 {
			n := 0
			for ; ; n++ {
				id := fmt.Sprint("s", round, "-", n)
				if err := w.a.Create(w.Context(), record(id)); err != nil {
					w.wantOwned(err, 64*kib)
					break
				}
				// The replica does not continue the call, which becomes an orphan.
				if err := w.fill(id, 8*kib, w.short); err != nil {
					w.wantOwned(err, 64*kib)
					break
				}
			}
			if n < 5 {
				w.Errorf("in round %d there was room for %d sessions with 8 KiB", round, n)
			}
			w.m.Advance(w.T, 3*w.short)
			w.endOrphans()
			w.m.Advance(w.T, 5*w.short)
		}
	}},
	{"anonymous callers are bounded by their addresses", state.Limits{PrincipalBytes: 64 * kib}, func(w *world) {
		create := func(id, from string) error {
			rec := record(id)
			rec.Principal, rec.Address = mcp.Principal{}, netip.MustParseAddr(from)
			return w.a.Create(w.Context(), rec)
		}
		w.must(create("s1", "2001:db8::1"))
		w.must(w.fill("s1", 48*kib, time.Hour))
		w.must(create("s2", "2001:db8::2"))
		w.wantOwned(w.fill("s2", 48*kib, time.Hour), 64*kib)
		w.must(create("s3", "192.0.2.1"))
		w.must(w.fill("s3", 48*kib, time.Hour))
	}},
}

// endOrphans ends the remaining calls.
func (w *world) endOrphans() {
	w.Helper()
	orphans, err := w.b.Orphans(w.Context(), 100)
	w.must(err)
	for _, o := range orphans {
		r, err := w.b.Claim(w.Context(), o)
		if errors.Is(err, state.ErrNotFound) {
			continue // It has expired.
		}
		w.must(err)
		w.must(w.b.Finish(w.Context(), w.under(w.b, r).next(), []byte("{}")))
	}
}

// chatty begins a call in each of n sessions.
func (w *world) chatty(session string, n int) (calls []*writer) {
	w.Helper()
	for i := range n {
		id := fmt.Sprint(session, i)
		w.must(w.b.Create(w.Context(), record(id)))
		c := callOf("c" + id)
		c.Deadline = time.Now().Add(time.Hour)
		records, err := w.a.Begin(w.Context(), id, "st", []state.Request{c})
		w.must(err)
		calls = append(calls, w.under(w.a, records[0]))
	}
	return calls
}

// logged returns the bytes of the logs of calls.
func (w *world) logged(calls []*writer) (n int) {
	w.Helper()
	for _, x := range calls {
		entries, _ := w.all(w.b, x.rec.Session, x.rec.Stream)
		for _, e := range entries {
			n += len(e)
		}
	}
	return n
}

// fill begins a call of a given size and lifetime in a session.
func (w *world) fill(session string, bytes int, life time.Duration) error {
	c := callOf("c" + session)
	c.Params = nil
	c.Params = make([]byte, bytes-c.Bytes())
	c.Deadline = time.Now().Add(life)
	_, err := w.a.Begin(w.Context(), session, "st", []state.Request{c})
	return err
}

// wantOwned checks for a PrincipalRoomError that names the bound.
func (w *world) wantOwned(err error, bound int) {
	w.Helper()
	w.want(state.ErrLimit, err)
	var got *state.PrincipalRoomError
	if !errors.As(err, &got) || got.Max != bound || got.More <= 0 || got.Used < 0 {
		w.Errorf("got error %v (%+v), want a PrincipalRoomError of %d bytes", err, got, bound)
	}
}
