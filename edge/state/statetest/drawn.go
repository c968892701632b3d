package statetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
)

// Patient are limits under which no lease expires.
var Patient = state.Limits{Lease: time.Hour}

// Drawn compares a medium with the model under random operations of three replicas, with the limits
// Patient. Replies of writes, answers and claims are lost, and the operations are repeated, late,
// also by replicas that have lost their calls. Calls are alone on their streams or in batches. The
// medium loses writes: snapshot copies what it has of a session, and back restores that copy.
func Drawn(t *testing.T, stores [3]medium.Store, snapshot func(session string) (back func())) {
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		w := &drawn{ctx: context.Background(), session: fmt.Sprint("drawn-", runs), batches: map[string]bool{}, snapshot: snapshot, model: &model.Medium{Limits: Patient}}
		for i, s := range stores {
			w.replicas[i] = &pair{w.model.Replica(medium.Hooks{}), s}
		}
		for _, s := range []medium.Store{w.replicas[0].model, w.replicas[0].medium} {
			if err := s.Create(w.ctx, &state.Session{ID: w.session}); err != nil {
				t.Fatal(err)
			}
		}
		defer func() { _ = stores[0].Delete(w.ctx, w.session) }()
		t.Repeat(map[string]func(*rapid.T){
			"begin": w.begin, "begin a batch": w.beginBatch, "write": w.write, "write more": w.write, "repeat": w.repeat, "answer": w.answer, "claim": w.claim,
			"restore": w.restore, "restore more": w.restore, "read": w.read, "beat": w.beat, "copy": w.copy, "rewind": w.rewind,
		})
	})
}

// pair is one replica, as a store of the model and as a store of the tested medium.
type pair struct{ model, medium medium.Store }

// drawn is one history of operations, with what each replica knows.
type drawn struct {
	ctx      context.Context
	session  string
	model    *model.Medium
	replicas [3]*pair
	snapshot func(string) func()
	leases   []*lease
	known    []knows
	sent     []sent
	asks     []string
	seen     []seen
	copies   []func()
	claims   []claimed
	// batches are the streams of batches.
	batches map[string]bool
	calls   int
	randoms uint32
}

// seen is a position of a reader, at in the model and theirs in the medium. They may differ: a
// Restore draws random bits for the log of a batch.
type seen struct {
	stream     string
	at, theirs medium.Position
}

// kind returns the text of the documented error that err wraps, or of another one.
func kind(err error) string {
	var rewound *medium.RewoundError
	if errors.As(err, &rewound) {
		return rewound.Error()
	}
	for _, k := range []error{state.ErrNotFound, state.ErrFenced, state.ErrExists, state.ErrLimit, state.ErrTooLarge} {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	if err != nil {
		return "another error: " + err.Error()
	}
	return "ok"
}

func (w *drawn) same(t *rapid.T, what string, want, got any, wantErr, gotErr error) {
	t.Helper()
	if kind(wantErr) != kind(gotErr) {
		t.Fatalf("%s: %v, where the model says %v", what, gotErr, wantErr)
	}
	if d := gocmp.Diff(want, got, cmpopts.EquateEmpty(), equate); d != "" {
		t.Fatalf("%s (-model +medium):\n%s", what, d)
	}
}

func (w *drawn) replica(t *rapid.T) *pair {
	return w.replicas[rapid.IntRange(0, len(w.replicas)-1).Draw(t, "replica")]
}

func pick[T any](t *rapid.T, from []T, what string) T {
	if len(from) == 0 {
		t.Skip("no " + what)
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(t, what)]
}

// lostReply draws whether a reply is lost.
func lostReply(t *rapid.T) bool { return rapid.IntRange(0, 4).Draw(t, "lost reply") == 0 }

// commit sends a write to both media.
func (w *drawn) commit(t *rapid.T, of *pair, write *medium.Write) error {
	want, got := of.model.Commit(w.ctx, write), of.medium.Commit(w.ctx, write)
	w.same(t, "commit", nil, nil, want, got)
	return want
}

// send records a write for later repetitions, unless other calls wait for one of its questions.
func (w *drawn) send(of *pair, write *medium.Write) {
	taken := w.waiting(write.Call)
	for _, a := range write.Asks {
		if slices.Contains(taken, a.ID) {
			return
		}
	}
	w.sent = append(w.sent, sent{of, write})
}

// write makes the next step under any lease, or repeats the last one if its reply was lost.
func (w *drawn) write(t *rapid.T) {
	l := pick(t, w.leases, "lease")
	write := l.pending
	if write == nil {
		if l.rec.Phase == state.PhaseWaiting || l.rec.Phase == state.PhaseDone {
			t.Skip("its owner knows that the lease has ended: it writes no more")
		}
		write = &medium.Write{}
		w.step(t, l, write)
		w.send(l.of, write)
	}
	err := w.commit(t, l.of, write)
	switch {
	case err != nil:
		l.pending = nil
	case lostReply(t):
		l.pending = write
	default:
		l.has(write)
	}
}

// repeat repeats any earlier write.
func (w *drawn) repeat(t *rapid.T) {
	s := pick(t, w.sent, "write")
	_ = w.commit(t, s.of, s.w)
}

func (w *drawn) answer(t *rapid.T) {
	of, ask := w.replica(t), pick(t, w.asks, "ask")
	text := fmt.Sprint(rapid.IntRange(1, 2).Draw(t, "attempt"))
	random := w.random(t)
	a := func() state.Answer {
		return state.Answer{Result: json.RawMessage(`{"content":"` + ask + text + `"}`), Token: ask + text}
	}
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		want, owned, wantErr := of.model.Answer(w.ctx, w.session, ask, a(), random)
		got, gotOwned, gotErr := of.medium.Answer(w.ctx, w.session, ask, a(), random)
		w.same(t, "answer", want, got, wantErr, gotErr)
		w.same(t, "answered", recordOf(owned), recordOf(gotOwned), nil, nil)
		switch want {
		case state.AnswerTaken:
			w.known = append(w.known, knows{of, *owned.Record})
		case state.AnswerCompleted:
			w.owns(t, of, owned)
		}
	}
}

func recordOf(o *medium.Owned) *medium.Record {
	if o == nil {
		return nil
	}
	return o.Record
}

// owns records the lease of a claim, unless its reply is lost or the lease is known.
func (w *drawn) owns(t *rapid.T, of *pair, o *medium.Owned) {
	there := slices.ContainsFunc(w.leases, func(l *lease) bool { return l.rec.ID == o.Record.ID && l.rec.Epoch == o.Record.Epoch })
	if !there && !lostReply(t) {
		w.leases = append(w.leases, &lease{of: of, rec: *o.Record, seq: o.Record.Last})
	}
}

// random draws random bits of an epoch: higher or lower, but never used before.
func (w *drawn) random(t *rapid.T) uint32 {
	w.randoms++
	return rapid.Uint32Range(0, 1000).Draw(t, "random")<<16 | w.randoms
}

func (w *drawn) claim(t *rapid.T) {
	of, l := w.replica(t), pick(t, w.leases, "lease")
	which := medium.ClaimTarget{
		Session: w.session, Random: w.random(t), Lapsed: rapid.Bool().Draw(t, "lapsed"), Cancel: rapid.Bool().Draw(t, "cancel"),
	}
	switch rapid.IntRange(0, 3).Draw(t, "by") {
	case 0:
		which.RequestID = l.rec.RequestID
	case 1:
		which.Call, which.Epoch = l.rec.ID, l.rec.Epoch
	default:
		which.Call = l.rec.ID
		if now, _, ok := w.model.Call(l.rec.ID); ok {
			which.Epoch = now.Epoch
		}
	}
	if len(w.claims) > 0 && rapid.IntRange(0, 5).Draw(t, "again") == 0 {
		c := pick(t, w.claims, "claim")
		of, which = c.of, c.which
	} else {
		w.claims = append(w.claims, claimed{of, which})
	}
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		want, wantErr := of.model.Claim(w.ctx, which)
		got, gotErr := of.medium.Claim(w.ctx, which)
		w.same(t, "claim", recordOf(want), recordOf(got), wantErr, gotErr)
		if wantErr == nil {
			w.owns(t, of, want)
		}
	}
}

// restore sends the knowledge of an owner, or of the replica that received an answer, to both media.
func (w *drawn) restore(t *rapid.T) {
	of, rec, entries, runs := (*pair)(nil), medium.Record{}, []medium.Entry(nil), false
	if len(w.known) > 0 && rapid.IntRange(0, 2).Draw(t, "by an answer") == 0 {
		k := pick(t, w.known, "answer")
		of, rec = k.of, k.rec
	} else {
		l := pick(t, w.leases, "lease")
		if of, rec, entries = l.of, l.rec, l.entries; l.pending != nil && len(l.pending.Begin) > 0 {
			t.Skip("it has not begun")
		}
		runs = rapid.Bool().Draw(t, "runs")
		if rapid.IntRange(0, 3).Draw(t, "window") == 0 {
			entries = entries[len(entries)/2:]
		}
	}
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		mine, theirs := rec, rec
		want, wantErr := of.model.Restore(w.ctx, &mine, entries, runs)
		got, gotErr := of.medium.Restore(w.ctx, &theirs, slices.Clone(entries), runs)
		w.same(t, "restore", want, got, wantErr, gotErr)
	}
	w.compare(t, of, seen{stream: rec.Stream}, 0)
}

func (w *drawn) read(t *rapid.T) {
	at := seen{stream: pick(t, w.leases, "lease").rec.Stream}
	if len(w.seen) > 0 && rapid.Bool().Draw(t, "resume") {
		at = pick(t, w.seen, "position")
		further := rapid.Uint64Range(0, 2).Draw(t, "further")
		at.at.Seq += further
		at.theirs.Seq += further
	}
	w.compare(t, w.replica(t), at, rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "most"))
}

// compare reads a stream after a position.
func (w *drawn) compare(t *rapid.T, of *pair, at seen, most int) {
	t.Helper()
	want, wantErr := of.model.Read(w.ctx, w.session, at.stream, at.at, most)
	got, gotErr := of.medium.Read(w.ctx, w.session, at.stream, at.theirs, most)
	// The medium may end a page early.
	if want.More != got.More && len(got.Entries) > 0 && len(got.Entries) <= len(want.Entries) && most == 0 {
		want.Entries, want.More, want.Ended = want.Entries[:len(got.Entries)], got.More, got.Ended
	}
	for i := range want.Entries { // Progress is in the record.
		want.Entries[i].Completes = ""
	}
	for i := range got.Entries {
		got.Entries[i].Completes = ""
	}
	for i := range min(len(want.Entries), len(got.Entries)) {
		w.seen = append(w.seen, seen{at.stream, want.Entries[i].Position(), got.Entries[i].Position()})
	}
	if w.batches[at.stream] {
		want, got = counted(want), counted(got)
	}
	w.same(t, fmt.Sprintf("read %s behind %+v", at.stream, at.at), want, got, wantErr, gotErr)
}

// counted returns a page whose epochs have their counters alone.
func counted(p medium.Page) medium.Page {
	p.Entries = slices.Clone(p.Entries)
	for i := range p.Entries {
		p.Entries[i].Epoch = medium.EpochOf(p.Entries[i].Epoch.Counter(), 0)
	}
	p.Last.Epoch = medium.EpochOf(p.Last.Epoch.Counter(), 0)
	return p
}

func (w *drawn) beat(t *rapid.T) {
	of := w.replica(t)
	want, wantErr := of.model.Beat(w.ctx, 1000, false)
	got, gotErr := of.medium.Beat(w.ctx, 1000, false)
	got = slices.DeleteFunc(got, func(o medium.ClaimTarget) bool { return o.Session != w.session })
	for _, list := range [][]medium.ClaimTarget{want, got} {
		slices.SortFunc(list, func(a, b medium.ClaimTarget) int { return cmp.Compare(a.Call, b.Call) })
	}
	w.same(t, "beat", want, got, wantErr, gotErr)
}

func (w *drawn) copy(*rapid.T) {
	model, medium := w.model.Snapshot(), w.snapshot(w.session)
	w.copies = append(w.copies, func() { model(); medium() })
}

// rewind restores a copy. Later copies belong to a discarded history.
func (w *drawn) rewind(t *rapid.T) { pick(t, w.copies, "copy")() }
