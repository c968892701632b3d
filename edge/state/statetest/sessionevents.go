package statetest

import (
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

var sessionEvents = []test{
	{"every other holder has handled the event when Notify returns", state.Limits{}, func(w *world) {
		third := w.replica("third")
		heard := w.listen(w.a, w.b, third)
		w.session(w.a, "s")
		w.session(w.a, "other")
		w.notify(w.a, state.SessionEvent{Kind: state.SessionChanged, Session: "s"}, heard)
		_, err := w.b.Load(w.Context(), "s")
		w.must(err)
		_, err = third.Load(w.Context(), "other")
		w.must(err)
		for _, kind := range []state.SessionEventKind{state.SessionChanged, state.RootsChanged} {
			w.notify(w.a, state.SessionEvent{Kind: kind, Session: "s"}, heard, w.b)
		}
		w.notify(w.b, state.SessionEvent{Kind: state.RequestCancelled, Session: "s", RequestID: `"7"`}, heard, w.a)
		by := mcp.Principal{Subject: "olivia", Issuer: "ops", SubjectIsClient: true, Client: "console", Actor: "robot", TokenID: "0123"}
		w.notify(w.b, state.SessionEvent{Kind: state.RequestCancelled, Session: "s", RequestID: `"7"`, By: &by}, heard, w.a)
		w.notify(third, state.SessionEvent{Kind: state.SessionChanged, Session: "s"}, heard, w.a, w.b)
		w.notify(w.b, state.SessionEvent{Kind: state.SessionChanged, Session: "never"}, heard)
	}},
	{"who runs or touches a call's session holds it", state.Limits{}, func(w *world) {
		third := w.replica("third")
		heard := w.listen(w.a, w.b, third)
		x := w.three()
		w.claim(w.b, x.which())
		_, err := third.Touch(w.Context(), []string{"s"})
		w.must(err)
		w.notify(w.a, state.SessionEvent{Kind: state.RequestCancelled, Session: "s", RequestID: `"c"`}, heard, w.b, third)
	}},
	{"the other holders hear of requests that begin, unless they end at once", state.Limits{}, func(w *world) {
		heard := w.listen(w.a, w.b, w.replica("third"))
		w.session(w.a, "s")
		_, err := w.b.Load(w.Context(), "s")
		w.must(err)
		w.must(w.a.Conclude(w.Context(), "s", "st0", callOf("c0"), response("c0")))
		w.begin(w.a, "s", "st1", "c1", "c2")
		w.hear(heard, w.b, `"c1"`, `"c2"`)
		w.begin(w.b, "s", "st3", "c3")
		w.hear(heard, w.a, `"c3"`)
	}},
	{"a session is loaded with the requests that run or wait", state.Limits{}, func(w *world) {
		w.session(w.a, "s")
		w.session(w.a, "other")
		w.begin(w.a, "other", "st", "other")
		w.requests("s")
		x := w.begin(w.a, "s", "st", "c1", "c2")
		y := w.begin(w.a, "s", "st2", "c3")[0]
		w.requests("s", `"c1"`, `"c2"`, `"c3"`)
		y.park("q")
		x[0].finish()
		w.requests("s", `"c2"`, `"c3"`)
		_, claimed := w.claim(w.b, x[1].which())
		w.must(w.b.Finish(w.Context(), claimed.next(), response("c2")))
		w.requests("s", `"c3"`)
		_, claimed = w.claim(w.b, y.request())
		claimed.finish()
		w.requests("s")
		younger := callOf("c4")
		younger.RequestID = `"c1"`
		_, err := w.b.Begin(w.Context(), "s", "st4", []state.Request{younger})
		w.must(err)
		w.requests("s", `"c1"`)
	}},
	{"the holders of an erased session hear of it", state.Limits{}, func(w *world) {
		heard := w.listen(w.a, w.b)
		w.session(w.a, "s")
		w.must(w.b.Delete(w.Context(), "s"))
		w.notify(w.b, state.SessionEvent{Kind: state.SessionDeleted, Session: "s"}, heard, w.a)
	}},
	{"who left is not notified", state.Limits{}, func(w *world) {
		heard := w.listen(w.a, w.b)
		w.session(w.a, "s")
		_, err := w.b.Load(w.Context(), "s")
		w.must(err)
		w.must(w.a.Leave(w.Context()))
		w.notify(w.b, state.SessionEvent{Kind: state.SessionChanged, Session: "s"}, heard)
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

// handledEvents are the session events that were handled.
type handledEvents struct {
	mu    sync.Mutex
	heard map[*replica][]state.SessionEvent
}

func (w *world) listen(replicas ...*replica) *handledEvents {
	e := &handledEvents{heard: map[*replica][]state.SessionEvent{}}
	for _, s := range replicas {
		s.Answering(func(b state.SessionEvent) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.heard[s] = append(e.heard[s], b)
		})
	}
	return e
}

// notify notifies the other replicas and compares which have handled it.
func (w *world) notify(s *replica, b state.SessionEvent, e *handledEvents, want ...*replica) {
	w.Helper()
	began := time.Now()
	w.must(s.Notify(w.Context(), b))
	if time.Since(began) >= notifyWait { // It may have stopped waiting for a busy machine.
		w.settle(e, len(want))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range want {
		if d := cmp.Diff([]state.SessionEvent{b}, e.heard[r], equate); d != "" {
			w.Errorf("a holder heard (-want +got):\n%s", d)
		}
	}
	if len(e.heard) != len(want) {
		w.Errorf("%d replicas heard %+v, want %d", len(e.heard), b, len(want))
	}
	clear(e.heard)
}

// notifyWait is how long Notify waits for replicas that do not answer.
const notifyWait = 250 * time.Millisecond

// settle waits until as many replicas have received an event.
func (w *world) settle(e *handledEvents, replicas int) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		e.mu.Lock()
		n := len(e.heard)
		e.mu.Unlock()
		if n >= replicas {
			return
		}
	}
}

// hear waits until exactly one replica has received the events of requests that have begun, and
// clears them.
func (w *world) hear(e *handledEvents, s *replica, requests ...string) {
	w.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		e.mu.Lock()
		var got []string
		for _, b := range e.heard[s] {
			if b.Kind != state.RequestBegan || b.Session != "s" {
				w.Errorf("heard %+v", b)
			}
			got = append(got, b.RequestID)
		}
		others := len(e.heard)
		if len(got) == len(requests) {
			clear(e.heard)
		}
		e.mu.Unlock()
		if slices.Sort(got); len(got) == len(requests) {
			if !slices.Equal(got, requests) || others > 1 {
				w.Errorf("a holder heard of %v, want %v; %d replicas heard", got, requests, others)
			}
			return
		}
		if time.Now().After(end) {
			w.Fatalf("a holder heard of %v, want %v", got, requests)
		}
	}
}

// requests compares the requests of a loaded session, and checks that a session read without use has none.
func (w *world) requests(session string, want ...string) {
	w.Helper()
	got, err := w.b.Store.Load(w.Context(), session, true)
	w.must(err)
	if slices.Sort(got.Requests); !slices.Equal(got.Requests, want) {
		w.Errorf("the requests are %v, want %v", got.Requests, want)
	}
	look, err := w.b.Look(w.Context(), session)
	w.must(err)
	if look.Requests != nil {
		w.Errorf("a look has the requests %v", look.Requests)
	}
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
	third := w.replica("third")
	release, hung, heard := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	w.b.Answering(func(state.SessionEvent) { <-release; close(hung) })
	third.Answering(func(state.SessionEvent) { heard <- struct{}{} })
	w.session(w.a, "s")
	for _, s := range []*replica{w.b, third} {
		_, err := s.Load(w.Context(), "s")
		w.must(err)
	}
	start := time.Now()
	w.must(w.a.Notify(w.Context(), state.SessionEvent{Kind: state.SessionChanged, Session: "s"}))
	took := time.Since(start)
	if took < 200*time.Millisecond || took > patience/2 {
		w.Errorf("Notify took %v, want 250 ms", took)
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
	_, err := w.b.Read(w.Context(), "s", at{Stream: "st"}, 0)
	w.want(state.ErrNotFound, err)
}
