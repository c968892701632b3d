package runtime

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// parking is a store that calls before ahead of the first step that asks a client.
type parking struct {
	medium.Store
	once   *sync.Once
	before func()
}

func (p parking) Commit(ctx context.Context, w *medium.Write) error {
	if w.Next == medium.NextWaiting {
		p.once.Do(p.before)
	}
	return p.Store.Commit(ctx, w)
}

// The store is rolled back to before a question was asked, and the reply to the write of the
// question is lost, so that its author repeats the write. The client answers in between: it has
// read the question and has no reason to answer again.
func TestAnswersToQuestionsThatAreYetToBeRestored(t *testing.T) {
	for _, noticedFirst := range []bool{true, false} {
		t.Run(fmt.Sprintf("noticed first %t", noticedFirst), func(t *testing.T) {
			in(t, func(t *testing.T, h *house) {
				b := h.replica(true)
				var once sync.Once
				h.wrap = func(s medium.Store) medium.Store {
					return parking{s, &once, func() {
						if noticedFirst {
							b.Returning()
						}
						if out := h.answer(b, "ask1", "one"); out != state.AnswerUnknown {
							t.Errorf("the status of an answer to what was not asked is %d", out)
						}
						if !noticedFirst {
							b.Returning()
						}
					}}
				}
				q := h.send(h.replica(true), "q", h.asksFirst(1))
				sleep(3 * time.Second)
				q.want("ask1, heard one")
				h.wantOver("q", call.HowParked, call.HowEnded)
				h.wantResumed("q", "one")
			})
		})
	}
}

// An answer to an unknown question is stored again only while the store may have been rolled back.
func TestAnswersToUnknownQuestionsAreForgotten(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		b := h.replica(true)
		sleep(unmatchedFor) // The store may have been rolled back before the start of b.
		if out := h.answer(b, "ask1", "one"); out != state.AnswerUnknown {
			t.Fatalf("the status of an answer to what was not asked is %d", out)
		}
		q := h.send(h.replica(true), "q", h.asksFirst(1))
		sleep(unmatchedFor + time.Second)
		b.Returning()
		sleep(5 * time.Second)
		q.want("ask1, …")
	})
}

// An answer of AnswerNow to an unknown question is not stored again, even if the store restores the
// question.
func TestAnswersOfNowAreNotStoredLater(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		a, b := h.replica(true), h.replica(true)
		now := func(want state.AnswerStatus) {
			t.Helper()
			out, release, err := b.AnswerNow(t.Context(), session, "ask1", state.Answer{Result: []byte("one"), Token: "one"}, mcp.Principal{})
			if out != want || err != nil {
				t.Fatalf("the status is %d, %v; want %d", out, err, want)
			}
			if release != nil {
				release()
			}
		}
		now(state.AnswerUnknown)
		q := h.send(a, "q", h.asksFirst(1))
		synctest.Wait()
		b.Returning()
		sleep(5 * time.Second)
		q.want("ask1, …")
		now(state.AnswerCompleted)
		sleep(time.Second)
		q.want("ask1, heard one")
	})
}

// If the store loses an answer that does not complete its set, the replica that took it restores
// it.
func TestAnswersThatTheStoreLost(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		a, b := h.replica(true), h.replica(true)
		q := h.send(b, "q", h.asksFirst(2))
		synctest.Wait()
		q.want("ask1, ask2, …")
		back := h.m.Snapshot()
		if out := h.answer(a, "ask1", "one"); out != state.AnswerTaken {
			t.Fatalf("the status of the first answer is %d", out)
		}
		back()
		if out := h.answer(b, "ask2", "two"); out != state.AnswerTaken {
			t.Fatalf("the status of the second answer is %d, though the store has lost the first", out)
		}
		sleep(5 * time.Second)
		q.want("ask1, ask2, …")
		for range 2 { // The second call has no effect.
			a.Returning()
		}
		sleep(2 * time.Second)
		q.want("ask1, ask2, heard one and two")
		if n := h.ran("q", 2); n != 1 {
			t.Errorf("the second round ran %d times", n)
		}
	})
}

// If an answer is stored again because the store was unavailable, the call continues with its
// credentials.
func TestRepeatedAnswersKeepTheirCredentials(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		a, b := h.replica(true), h.replica(true)
		q := h.send(a, "q", h.asksFirst(1))
		synctest.Wait()
		h.m.Away(true)
		_, _, err := b.Answer(t.Context(), session, "ask1", state.Answer{Result: []byte("one"), Token: "one"}, mcp.Principal{Subject: "ann"})
		if call.FaultOf(err) != call.Unavailable {
			t.Fatalf("the answer to a store that is away: %v", err)
		}
		h.m.Away(false)
		sleep(2 * time.Second)
		q.want("ask1, heard one")
		h.wantResumed("q", "ann")
	})
}

// Answers to unknown questions are bounded. They expire even if no other answer arrives.
func TestAnswersToUnknownQuestionsAreBounded(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(true)
		give := func(session string, size int) {
			t.Helper()
			out, _, err := r.Answer(t.Context(), session, "made-up", state.Answer{Result: make([]byte, size)}, mcp.Principal{})
			if out != state.AnswerUnknown || err != nil {
				t.Fatalf("the status of an answer to what was not asked is %d, %v", out, err)
			}
		}
		held := func() (n, bytes int) {
			r.mu.Lock()
			defer r.mu.Unlock()
			for i := range r.unmatched {
				bytes += r.unmatched[i].bytes()
			}
			return len(r.unmatched), bytes
		}
		if give(session, unmatchedSize); len(r.unmatched) != 0 {
			t.Error("an answer is kept that is larger than any may be")
		}
		for range 3 * sessionUnmatched {
			give(session, 1)
		}
		if n, _ := held(); n != sessionUnmatched {
			t.Errorf("%d answers of a session are kept, want %d", n, sessionUnmatched)
		}
		for i := range 100 {
			other := fmt.Sprint("other", i)
			if err := r.store.Create(t.Context(), &state.Session{ID: other}); err != nil {
				t.Fatal(err)
			}
			give(other, unmatchedSize/2)
		}
		if n, bytes := held(); n < unmatchedBytes/unmatchedSize || bytes > unmatchedBytes {
			t.Errorf("%d answers of %d bytes are kept, want as many as %d bytes hold", n, bytes, unmatchedBytes)
		}
		sleep(unmatchedFor + 2*time.Second)
		if n, bytes := held(); n != 0 {
			t.Errorf("%d answers of %d bytes are kept for too long", n, bytes)
		}
	})
}

// Answers that may have been stored are bounded too, while the store is unavailable.
func TestRetriedAnswersAreBounded(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(true)
		h.m.Away(true)
		for range maxRetries {
			_, _, err := r.Answer(t.Context(), session, "ask", state.Answer{Result: make([]byte, maxRetryBytes/16)}, mcp.Principal{})
			if call.FaultOf(err) != call.Unavailable {
				t.Fatalf("the answer to a store that is away: %v", err)
			}
		}
		if n := r.answerRetries.Load(); n != 15 {
			t.Errorf("%d answers are retried, want what %d bytes hold", n, maxRetryBytes)
		}
		h.m.Away(false)
		sleep(2 * time.Second)
		if n, bytes := r.answerRetries.Load(), r.retryBytes.Load(); n != 0 || bytes != 0 {
			t.Errorf("%d answers of %d bytes are retried, though the store is back", n, bytes)
		}
	})
}

// An answer that may have been stored is retried. If the store has lost its question by then, it is kept for the restored one as any other,
// also on a replica that has started since the store was away.
func TestRetriedAnswersWaitForTheirQuestions(t *testing.T) {
	for name, away := range map[string]bool{"retried": true, "on a new replica": false} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *house) {
				b := h.replica(true)
				if away {
					sleep(2 * missingStreamWait)
					h.m.Away(true)
					if _, _, err := b.Answer(t.Context(), session, "ask1", state.Answer{Result: []byte("one"), Token: "one"}, mcp.Principal{}); err == nil {
						t.Fatal("an answer without a store is no error")
					}
					h.m.Away(false)
					b.Returning()
				} else if out := h.answer(b, "ask1", "one"); out != state.AnswerUnknown {
					t.Fatalf("the status of an answer to what was not asked is %d", out)
				}
				sleep(1500 * time.Millisecond)
				q := h.send(h.replica(true), "q", h.asksFirst(1))
				sleep(3 * time.Second)
				q.want("ask1, heard one")
			})
		})
	}
}
