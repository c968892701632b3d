package statetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/state"
)

// charged tests that a session's bytes include more than its logs and the params of its calls.
var charged = []test{
	{"a session that is too large is not made", state.Limits{SessionBytes: beside(0), SessionsPerPrincipal: 1}, func(w *world) {
		large := record("s")
		large.ClientInfo = append(large.ClientInfo, ' ')
		w.wantRoom(w.a.Create(w.Context(), large), state.RoomError{More: beside(1), Max: beside(0)})
		w.session(w.a, "s") // The refused session is not counted.
	}},
	{"subscriptions count until they are ended", state.Limits{SessionBytes: beside(20 * kib)}, func(w *world) {
		w.session(w.a, "s")
		one := func(i int) state.Patch { return state.Patch{Subscribe: uri(i, 4*kib)} }
		for i := range 5 {
			_, err := w.a.Update(w.Context(), "s", one(i))
			if i < 4 {
				w.must(err)
				continue
			}
			each := w.grows(one(0))
			w.wantRoom(err, state.RoomError{Used: beside(4 * each), More: each, Max: beside(20 * kib)})
		}
		got, err := w.b.Load(w.Context(), "s")
		w.must(err)
		if len(got.Subscriptions) != 5 || got.Serial != 9 { // record has one subscription
			w.Errorf("%d subscriptions, serial %d after a refusal", len(got.Subscriptions), got.Serial)
		}
		// A refused patch changes no field.
		_, err = w.b.Update(w.Context(), "s", state.Patch{Subscribe: uri(4, 4*kib), Attach: true})
		w.want(state.ErrLimit, err)
		// Calls count for the same bound.
		_, err = w.beginBig(0)
		w.want(state.ErrLimit, err)
		_, err = w.b.Update(w.Context(), "s", state.Patch{Unsubscribe: uri(1, 4*kib)})
		w.must(err)
		got, err = w.a.Update(w.Context(), "s", one(4))
		w.must(err)
		want := []string{"file:///1", uri(0, 4*kib), uri(2, 4*kib), uri(3, 4*kib), uri(4, 4*kib)}
		if !slices.Equal(got.Subscriptions, want) || got.Attachment != 4 {
			w.Errorf("%d subscriptions in another order, or attachment %d", len(got.Subscriptions), got.Attachment)
		}
	}},
	{"a subscription makes finished streams go", state.Limits{SessionBytes: beside(20 * kib)}, func(w *world) {
		w.session(w.a, "s")
		x, err := w.beginBig(0)
		w.must(err)
		w.must(w.a.Finish(w.Context(), x.next(), make([]byte, 18*kib)))
		_, err = w.b.Update(w.Context(), "s", state.Patch{Subscribe: uri(1, 4*kib)})
		w.must(err)
		w.kept(1)
	}},
	{"what a caller knows spares the medium a look, and is not believed", state.Limits{Subscriptions: 3}, func(w *world) {
		first := w.session(w.a, "s")
		second, err := w.a.Update(w.Context(), "s", state.Patch{From: first, Subscribe: "u2"})
		w.must(err)
		// This patch is based on a record that the last one replaced.
		third, err := w.b.Update(w.Context(), "s", state.Patch{From: first, Subscribe: "u3"})
		w.must(err)
		if d := cmp.Diff([]string{"file:///1", "u2", "u3"}, third.Subscriptions); d != "" || third.Serial != 7 {
			w.Errorf("serial %d, subscriptions (-want +got):\n%s", third.Serial, d)
		}
		// The bound applies to the stored record, not to the smaller one that the caller has.
		_, err = w.a.Update(w.Context(), "s", state.Patch{From: second, Subscribe: "u4"})
		w.want(state.ErrLimit, err)
		_, err = w.a.Update(w.Context(), "s", state.Patch{From: second, Unsubscribe: "u2"})
		w.must(err)
		got, err := w.b.Update(w.Context(), "s", state.Patch{From: third, Subscribe: "u4"})
		w.must(err)
		loaded, err := w.a.Load(w.Context(), "s")
		w.must(err)
		if d := cmp.Diff(got, loaded, equate); d != "" {
			w.Errorf("the record after the patch and the one that is kept (-got +kept):\n%s", d)
		}
		if d := cmp.Diff([]string{"file:///1", "u3", "u4"}, got.Subscriptions); d != "" {
			w.Errorf("subscriptions (-want +got):\n%s", d)
		}
		// The last patch changes nothing in the record that its caller has, which is outdated.
		_, err = w.a.Update(w.Context(), "s", state.Patch{From: got, Unsubscribe: "u4"})
		w.must(err)
		last, err := w.b.Update(w.Context(), "s", state.Patch{From: got, Subscribe: "u4"})
		w.must(err)
		if !slices.Contains(last.Subscriptions, "u4") {
			w.Errorf("subscriptions are %q, want u4 among them", last.Subscriptions)
		}
	}},
	{"an ended session's subscriptions are not those of its successor", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		_, err := w.a.Update(w.Context(), "s", state.Patch{Subscribe: "u2"})
		w.must(err)
		w.must(w.a.Delete(w.Context(), "s"))
		next := record("s")
		next.Subscriptions = nil
		w.must(w.a.Create(w.Context(), next))
		got, err := w.b.Load(w.Context(), "s")
		w.must(err)
		if len(got.Subscriptions) != 0 {
			w.Errorf("a new session is subscribed to %q", got.Subscriptions)
		}
	}},
	{"a waiting call counts with its state and answers", state.Limits{SessionBytes: beside(20 * kib)}, func(w *world) {
		w.session(w.a, "s")
		x, err := w.beginBig(0)
		w.must(err)
		asks := asksOf("q1", "q2")
		messages := len(asks[0].Message) + len(asks[1].Message) + 2*w.seal
		err = w.a.Park(w.Context(), x.next(), asks, w.data("s", 12*kib))
		w.wantRoom(err, state.RoomError{Used: beside(8 * kib), More: 12*kib + messages, Max: beside(20 * kib)})
		// The refused step used no number and did not end the lease.
		w.must(w.a.Park(w.Context(), x.next(), asks, w.data("s", 4*kib)))
		big := state.Answer{Result: []byte(strings.Repeat("x", 4*kib))}
		out, _, err := w.b.Answer(w.Context(), "s", "q1", big)
		w.must(err)
		if out != state.AnswerTaken {
			w.Fatalf("outcome %d, want taken", out)
		}
		_, _, err = w.b.Answer(w.Context(), "s", "q2", big)
		w.wantRoom(err, state.RoomError{Used: beside(16*kib + messages), More: 4 * kib, Max: beside(20 * kib)})
		// The call still waits for the refused answer.
		out, c, err := w.b.Answer(w.Context(), "s", "q2", answer("small"))
		w.must(err)
		if out != state.AnswerCompleted || len(answered(c)) != 2 || len(c.State) != 4*kib-w.seal {
			w.Fatalf("outcome %d, claim %+v", out, c)
		}
		// The next round's state replaces the state and the answers of the last one.
		y := w.under(w.b, c)
		w.must(w.b.Park(w.Context(), y.next(), nil, make([]byte, 11*kib)))
		err = w.b.Park(w.Context(), y.next(), nil, make([]byte, 13*kib))
		w.want(state.ErrLimit, err)
		// State and answers of a finished call do not count.
		w.must(w.b.Finish(w.Context(), y.next(), nil))
		for i := range 2 {
			_, err = w.beginBig(i + 1)
			w.must(err)
		}
		_, err = w.beginBig(3)
		w.wantRoom(err, state.RoomError{Used: beside(16 * kib), More: 8 * kib, Max: beside(20 * kib)})
	}},
	{"progress and log messages make room for a question", state.Limits{SessionBytes: beside(20 * kib)}, func(w *world) {
		w.session(w.a, "s")
		x, err := w.beginBig(0)
		w.must(err)
		x.append(state.Entry{Kind: state.EntryLog, Data: []byte(strings.Repeat("a", 6*kib))},
			state.Entry{Kind: state.EntryLog, Data: []byte(strings.Repeat("b", 4*kib))})
		w.must(w.a.Park(w.Context(), x.next(), asksOf("q1"), make([]byte, 4*kib)))
		w.logOf(x, "b{")
		out, c, err := w.b.Answer(w.Context(), "s", "q1", state.Answer{Result: []byte(strings.Repeat("x", 6*kib))})
		w.must(err)
		if out != state.AnswerCompleted || c == nil {
			w.Fatalf("outcome %d, want completed", out)
		}
		w.logOf(x, "{")
	}},
}

// uri is the i-th resource, of a URI of n bytes.
func uri(i, n int) string { return fmt.Sprintf("x://%0*d", n-4, i) }

// grows returns what a patch adds to the record of a session.
func (w *world) grows(p state.Patch) int {
	w.Helper()
	rec := record("s")
	next, _, err := rec.With(p, 1024)
	w.must(err)
	return next.Bytes() - rec.Bytes()
}
