package stateful

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// A store went back to before a question was asked, and the reply to the write that asked it was lost too, so its author
// writes it again as if nothing had been. The client answers in between: it has read the question, and nothing
// tells it to answer once more.
func TestAnswersToQuestionsThatAreYetToBeRestored(t *testing.T) {
	for _, noticedFirst := range []bool{true, false} {
		t.Run(fmt.Sprintf("noticed first %t", noticedFirst), func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				s := w.initialize(v1125)
				w.backend.tools["ask"] = asking(elicit("name"))
				w.a.draw = func() int64 { return 77 }
				returned := func() { w.b.bell(state.Bell{Kind: state.BellReturned}) }
				w.faults.onPark = func() {
					if noticedFirst {
						returned()
					}
					y := w.begin(func(ctx context.Context, x *exchange) {
						w.b.Message(ctx, w.incoming(s), mustParse(answer("77", `{"a":1}`)), x)
					})
					<-y.done
					w.wantAccepted(y)
					if !noticedFirst {
						returned()
					}
					time.Sleep(time.Second)
				}
				x := w.post(w.a, s, callTool(1, "ask"))
				after(3 * time.Second)
				msgs := x.messages()
				if !x.ended() || len(msgs) != 2 || !strings.Contains(msgs[1], `name={\"a\":1}`) {
					t.Errorf("ended %v after %v", x.ended(), msgs)
				}
				if n := w.b.Counters().AnswersUnknown.Load(); n != 1 {
					t.Errorf("%d unknown answers were counted, want the one that was given", n)
				}
			})
		})
	}
}

// An answer that others are still missing beside is nobody's work yet: when the store loses it, who took it gives it again.
func TestAnswersThatTheStoreLost(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"), elicit("age"))
		x := w.post(w.b, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		w.faults.mu.Lock()
		w.faults.forgetAnswer = true
		w.faults.mu.Unlock()
		w.wantAccepted(w.post(w.a, s, answer(ids[0], `{"a":1}`)))
		w.wantAccepted(w.post(w.b, s, answer(ids[1], `{"a":2}`)))
		after(5 * time.Second)
		if x.ended() {
			t.Fatal("the call goes on without an answer")
		}
		for range 2 { // the second changes nothing
			w.a.bell(state.Bell{Kind: state.BellReturned})
		}
		after(time.Second)
		if msgs := x.messages(); !x.ended() || !strings.Contains(msgs[len(msgs)-1], `name={\"a\":1} age={\"a\":2}`) {
			t.Errorf("ended %v after %v", x.ended(), msgs)
		}
		if n := len(w.backend.seen()); n != 2 {
			t.Errorf("%d rounds, want 2", n)
		}
	})
}

// While the store is as it was, nothing is given again; and what is kept is bounded by number, by bytes and by age.
func TestKeptAnswersAreBounded(t *testing.T) {
	var x keptAnswers
	now := time.Now()
	given := func(at time.Time, bytes int) givenAnswer {
		return givenAnswer{at: at, answer: state.Answer{Result: make([]byte, bytes)}, due: true}
	}
	if x.keep(given(now, 1)) {
		t.Error("an answer is given again though the store was not away")
	}
	if !x.returned(now) || x.returned(now) {
		t.Error("the answers are to be given again, by one goroutine")
	}
	if n := len(x.next(now)); n != 1 {
		t.Errorf("%d answers are due, want 1", n)
	}
	if n := len(x.next(now.Add(answerLife + 1))); n != 0 || !x.returned(now.Add(answerLife)) {
		t.Errorf("%d answers are due so long after the store was away", n)
	}
	later := now.Add(answerLife + 1)
	for range 2 * maxAnswers {
		x.keep(given(later, 1))
	}
	if len(x.list) != maxAnswers || x.bytes != maxAnswers || x.list[0].at != later {
		t.Errorf("%d answers of %d bytes are kept, want %d", len(x.list), x.bytes, maxAnswers)
	}
	x.keep(given(later, maxAnswerBytes))
	if len(x.list) != 1 {
		t.Errorf("%d answers are kept beside one that takes all the room", len(x.list)-1)
	}
	x.keep(given(later, maxAnswerBytes+1))
	if len(x.list) != 0 || x.bytes != 0 {
		t.Errorf("%d answers of %d bytes are kept", len(x.list), x.bytes)
	}
}
