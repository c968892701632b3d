package statetest

import (
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpedge/mcpedge/edge/state"
)

var bells = []test{
	{"every other holder has handled the bell when ringing returns", state.Limits{}, func(w *world) {
		third := w.m.Replica(w.T, "third")
		heard := w.listen(w.a, w.b, third)
		w.session(w.a, "s")
		w.session(w.a, "other")
		w.ring(w.a, state.Bell{Kind: state.BellChanged, Session: "s"}, heard)
		_, err := w.b.Load(w.Context(), "s")
		w.must(err)
		_, err = third.Load(w.Context(), "other")
		w.must(err)
		for _, kind := range []state.BellKind{state.BellChanged, state.BellRoots} {
			w.ring(w.a, state.Bell{Kind: kind, Session: "s"}, heard, w.b)
		}
		w.ring(w.b, state.Bell{Kind: state.BellCancelled, Session: "s", RequestID: `"7"`}, heard, w.a)
		w.ring(third, state.Bell{Kind: state.BellChanged, Session: "s"}, heard, w.a, w.b)
		w.ring(w.b, state.Bell{Kind: state.BellChanged, Session: "never"}, heard)
	}},
	{"who runs or touches a call's session holds it", state.Limits{}, func(w *world) {
		third := w.m.Replica(w.T, "third")
		heard := w.listen(w.a, w.b, third)
		x := w.three()
		w.claim(w.b, x.which())
		_, err := third.Touch(w.Context(), []string{"s"})
		w.must(err)
		w.ring(w.a, state.Bell{Kind: state.BellCancelled, Session: "s", RequestID: `"c"`}, heard, w.b, third)
	}},
	{"the holders of an erased session hear of it", state.Limits{}, func(w *world) {
		heard := w.listen(w.a, w.b)
		w.session(w.a, "s")
		w.must(w.b.Delete(w.Context(), "s"))
		w.ring(w.b, state.Bell{Kind: state.BellDeleted, Session: "s"}, heard, w.a)
	}},
	{"who left is not rung", state.Limits{}, func(w *world) {
		heard := w.listen(w.a, w.b)
		w.session(w.a, "s")
		_, err := w.b.Load(w.Context(), "s")
		w.must(err)
		w.must(w.a.Leave(w.Context()))
		w.ring(w.b, state.Bell{Kind: state.BellChanged, Session: "s"}, heard)
	}},
	{"a handler that hangs is not waited for longer than 250 ms", state.Limits{}, hanging},
	{"followers wake on append, park, finish and delete", state.Limits{}, wakes},
	{"tokens do not pile up, and stop with the registration", state.Limits{}, func(w *world) {
		x := w.three()
		wake, stop := w.b.Follow("s", "st")
		x.append(notice("4"))
		x.append(notice("5"))
		w.token(wake)
		select {
		case <-wake:
			w.Error("two tokens for what one read shows")
		default:
		}
		stop()
		other, stopOther := w.b.Follow("s", "st")
		defer stopOther()
		x.append(notice("6"))
		w.token(other)
		select {
		case <-wake:
			w.Error("a token after the registration ended")
		default:
		}
	}},
	{"following before the stream is there, or after it went, wakes", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		wake, stop := w.b.Follow("s", "st")
		defer stop()
		w.begin(w.a, "s", "st", "c")[0].append(notice("1"))
		w.token(wake)
		wake, stop = w.b.Follow("never", "st")
		defer stop()
		w.token(wake)
	}},
}

// ears are the bells that were heard.
type ears struct {
	mu    sync.Mutex
	heard map[state.Store][]state.Bell
}

func (w *world) listen(replicas ...state.Store) *ears {
	e := &ears{heard: map[state.Store][]state.Bell{}}
	for _, s := range replicas {
		s.Answering(func(b state.Bell) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.heard[s] = append(e.heard[s], b)
		})
	}
	return e
}

// ring rings and compares who has heard it by then.
func (w *world) ring(s state.Store, b state.Bell, e *ears, want ...state.Store) {
	w.Helper()
	w.must(s.Ring(w.Context(), b))
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range want {
		if d := cmp.Diff([]state.Bell{b}, e.heard[r], equate); d != "" {
			w.Errorf("a holder heard (-want +got):\n%s", d)
		}
	}
	if len(e.heard) != len(want) {
		w.Errorf("%d replicas heard %+v, want %d", len(e.heard), b, len(want))
	}
	clear(e.heard)
}

// token waits for a token.
func (w *world) token(wake <-chan struct{}) {
	w.Helper()
	select {
	case <-wake:
	case <-time.After(patience):
		w.Fatalf("not woken within %v", patience)
	}
}

func hanging(w *world) {
	third := w.m.Replica(w.T, "third")
	release, hung, heard := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	w.b.Answering(func(state.Bell) { <-release; close(hung) })
	third.Answering(func(state.Bell) { heard <- struct{}{} })
	w.session(w.a, "s")
	for _, s := range []state.Store{w.b, third} {
		_, err := s.Load(w.Context(), "s")
		w.must(err)
	}
	start := time.Now()
	w.must(w.a.Ring(w.Context(), state.Bell{Kind: state.BellChanged, Session: "s"}))
	took := time.Since(start)
	if took < 200*time.Millisecond || took > 5*time.Second {
		w.Errorf("ringing took %v, want 250 ms", took)
	}
	w.token(heard)
	close(release)
	w.token(hung)
}

func wakes(w *world) {
	w.session(w.a, "s")
	x := w.begin(w.a, "s", "st", "c", "c2")
	wake, stop := w.b.Follow("s", "st")
	defer stop()
	x[0].append(notice("1"))
	w.token(wake)
	x[0].park("q")
	w.token(wake)
	x[1].finish()
	w.token(wake)
	_, y := w.claim(w.b, x[0].request())
	w.must(w.b.Finish(w.Context(), y.next(), nil))
	w.token(wake)
	if _, last := w.all(w.b, "s", "st"); !last.Ended {
		w.Fatal("woken, but the stream has not ended")
	}
	w.must(w.a.Delete(w.Context(), "s"))
	w.token(wake)
	_, err := w.b.Read(w.Context(), "s", state.Position{Stream: "st"}, 0)
	w.want(state.ErrNotFound, err)
}
