package statetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

const kib = 1 << 10

// room tests that all that one session keeps is bounded.
var room = []test{
	{"finished streams make room for a call", state.Limits{SessionBytes: beside(64 * kib)}, func(w *world) {
		w.session(w.a, "s")
		for i := range 10 {
			x, err := w.beginBig(i)
			w.must(err)
			w.must(w.b.Finish(w.Context(), w.taken(x).next(), make([]byte, 20*kib)))
		}
		// The tenth call's 8 KiB of params left room for the responses of two others. Its end made room for its own.
		w.kept(10, 7, 8, 9)
	}},
	{"finished streams are bounded by number", state.Limits{StreamsPerSession: 3}, func(w *world) {
		w.session(w.a, "s")
		for i := range 8 {
			name := fmt.Sprint("st", i)
			w.begin(w.a, "s", name, name)[0].finish()
		}
		w.kept(8, 5, 6, 7)
	}},
	{"a call that finds no room is refused until others end", state.Limits{SessionBytes: beside(20 * kib)}, func(w *world) {
		w.session(w.a, "s")
		first, err := w.beginBig(0)
		w.must(err)
		_, err = w.beginBig(1)
		w.must(err)
		_, err = w.beginBig(2)
		w.want(state.ErrLimit, err)
		w.wantRoom(err, state.RoomError{Used: beside(16 * kib), More: 8 * kib, Max: beside(20 * kib)})
		first.finish()
		third, err := w.beginBig(2)
		w.must(err)
		// The finished stream made room. Repeated and refused writes are not counted.
		w.must(w.a.Finish(w.Context(), third.next(), nil))
		w.must(w.a.Finish(w.Context(), third.same(), nil))
		_, err = w.beginBig(3)
		w.must(err)
		_, err = w.beginBig(4)
		w.want(state.ErrLimit, err)
	}},
	{"progress and log messages make room, requests and responses do not", state.Limits{SessionBytes: beside(20 * kib)}, func(w *world) {
		w.session(w.a, "s")
		x, err := w.beginBig(0)
		w.must(err)
		var log []state.Entry
		for i := range 16 {
			log = append(log, state.Entry{Kind: state.EntryLog, Data: w.data(string(rune('a'+i)), kib)})
		}
		x.append(log[:8]...)
		x.append(log[8:]...)
		w.logOf(x, "efghijklmnop")
		x.append(state.Entry{Kind: state.EntryNotice, Data: w.data("N", 10*kib)})
		w.logOf(x, "opN")
		// Pinned entries stay, even beyond this bound: they have a bound of their own.
		x.append(state.Entry{Kind: state.EntryNotice, Data: w.data("M", 10*kib)})
		w.logOf(x, "NM")
		_, err = w.beginBig(1)
		w.want(state.ErrLimit, err)
		w.must(w.a.Finish(w.Context(), x.next(), []byte(strings.Repeat("R", kib))))
		w.logOf(x, "NMR")
		if _, err = w.beginBig(1); err != nil {
			w.Errorf("after the stream has ended: %v", err)
		}
	}},
	{"what lapsed is counted no more", state.Limits{SessionBytes: beside(20 * kib), LogTTL: short}, func(w *world) {
		w.session(w.a, "s")
		for i := range 3 {
			x, err := w.beginBig(i)
			w.must(err)
			w.must(w.a.Finish(w.Context(), x.next(), make([]byte, 10*kib)))
			w.m.Advance(w.T, 2*w.short)
		}
		x, err := w.beginBig(3)
		w.must(err)
		x.append(state.Entry{Kind: state.EntryLog, Data: w.data("a", 12*kib)})
		w.logOf(x, "a")
	}},
}

// beside returns a bound that leaves n bytes after the record of session s.
func beside(n int) int { return record("s").Bytes() + n }

// wantRoom compares a RoomError.
func (w *world) wantRoom(err error, want state.RoomError) {
	w.Helper()
	w.want(state.ErrLimit, err)
	var got *state.RoomError
	if !errors.As(err, &got) || *got != want {
		w.Errorf("got error %v, want %v", err, &want)
	}
}

// beginBig begins stream st<i> with one call that counts 8 KiB.
func (w *world) beginBig(i int) (*writer, error) {
	c := callOf(fmt.Sprint("c", i))
	c.Params = nil
	c.Params = make([]byte, 8*kib-c.Bytes())
	c.Deadline = time.Now().Add(time.Hour)
	records, err := w.a.Begin(w.Context(), "s", fmt.Sprint("st", i), []state.Request{c})
	if err != nil {
		return nil, err
	}
	return w.under(w.a, records[0]), nil
}

// taken returns the writer of the call after a takeover by replica b.
func (w *world) taken(x *writer) *writer {
	w.Helper()
	_, y := w.claim(w.b, x.which())
	return y
}

// kept fails the test unless exactly the streams st<i>, for i in want, of the finished streams st0 to
// st<n-1> can be read.
func (w *world) kept(n int, want ...int) {
	w.Helper()
	for i := range n {
		p, err := w.b.Read(w.Context(), "s", at{Stream: fmt.Sprint("st", i)}, 0)
		if !slices.Contains(want, i) {
			w.want(state.ErrNotFound, err)
			continue
		}
		w.must(err)
		if len(p.Entries) != 1 || !p.Ended {
			w.Errorf("stream %d has %d entries, ended %v, want its response", i, len(p.Entries), p.Ended)
		}
	}
}

// logOf compares the log of a call with want, which has the first byte of each entry.
func (w *world) logOf(x *writer, want string) {
	w.Helper()
	got, _ := w.all(w.b, x.rec.Session, x.rec.Stream)
	var b strings.Builder
	for _, text := range got {
		b.WriteByte(text[0])
	}
	if b.String() != want {
		w.Fatalf("the log has %s, want %s", b.String(), want)
	}
}
