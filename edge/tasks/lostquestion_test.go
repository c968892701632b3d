package tasks

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// questionless is a store that has lost the questions of all tasks while lost is set. reads: the logs were read before.
type questionless struct {
	medium.Store
	lost  atomic.Bool
	reads bool
}

func (s *questionless) Read(ctx context.Context, session, stream string, after medium.Position, most int) (medium.Page, error) {
	page, err := s.Store.Read(ctx, session, stream, after, most)
	if s.lost.Load() && !s.reads {
		page.Entries = slices.DeleteFunc(slices.Clone(page.Entries), func(e medium.Entry) bool { return e.Kind == state.EntryRequest })
	}
	return page, err
}

func (s *questionless) Summaries(ctx context.Context, sessions []string, stream string) ([]*medium.Summary, error) {
	found, err := s.Store.Summaries(ctx, sessions, stream)
	for i, g := range found {
		if g != nil && s.lost.Load() {
			lost := *g
			lost.Waits, found[i] = nil, &lost
		}
	}
	return found, err
}

func (s *questionless) Answer(ctx context.Context, session, ask string, a state.Answer, random uint32) (state.AnswerStatus, *medium.Owned, error) {
	if s.lost.Load() {
		return state.AnswerUnknown, nil, nil
	}
	return s.Store.Answer(ctx, session, ask, a, random)
}

// TestT5AnswersToQuestionsThatAreYetToBeRestored: the client of a task answers a question that it has read, and that the store has lost
// by then, or loses while the task is read. Its answer is taken once the store has the question again, whether the replica hears of the
// loss before or after it. The answer to a question for an approval is not: clients give no approvals.
func TestT5AnswersToQuestionsThatAreYetToBeRestored(t *testing.T) {
	for name, c := range map[string]struct{ reads, noticedFirst bool }{
		"noticed first": {false, true}, "noticed later": {false, false}, "lost while it is read": {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			onMedia(t, nil, func(t *testing.T, w *world) {
				w.backend.tools["ask"], w.backend.tools["pay"] = asking(), approved()
				a, open, store := w.replica(), w.open, &questionless{reads: c.reads}
				w.open = func(h medium.Hooks) medium.Store { store.Store = open(h); return store }
				b := w.replica()
				paid, id, key, approval := a.begin("pay", ""), a.begin("ask", ""), "", ""
				await.Until(t, "the tasks to wait", func() bool {
					if now := keys(a.get(id)); len(now) == 1 {
						key = now[0]
					}
					approval = a.approvalKey(paid)
					return key != "" && approval != ""
				})
				answer := func(id, key, result string) {
					b.must(modern, "alice", mcp.MethodTasksUpdate, about(id)+`,"inputResponses":{"`+key+`":`+result+`}`)
				}
				store.lost.Store(true)
				if c.noticedFirst {
					b.calls.Returning()
				}
				grant, _ := json.Marshal(mcp.ApprovalVerdict{End: mcp.ApprovalGranted})
				answer(paid, approval, string(grant))
				answer(paid, againPrefix+approval, string(grant))
				answer(id, key, `{"name":"Alice"}`)
				store.lost.Store(false)
				if !c.noticedFirst {
					b.calls.Returning()
				}
				await.Until(t, "the answer to be taken", func() bool { now := keys(a.get(id)); return len(now) == 1 && now[0] != key })
				if _, err := a.Approval(t.Context(), paid); err != nil {
					t.Errorf("the task that waits for an approval: %v", err)
				}
				if n := b.Counters().AnswersUnknown.Load(); n != 3 {
					t.Errorf("%d unknown answers were counted, want 3", n)
				}
			})
		})
	}
}

// TestClientsGiveNoApprovals: an answer of a client to a question for an approval is dropped, whatever its key has become.
func TestClientsGiveNoApprovals(t *testing.T) {
	for key, kept := range map[string]bool{
		keyOf("name", 1): true, againPrefix + keyOf("name", 1): true, keyOf(mcp.OwnKeys+"confirm", 1): true, againPrefix: true,
		keyOf(mcp.ApprovalKey, 1): false, keyOf(mcp.ApprovalKey+".X", 1): false, againPrefix + keyOf(mcp.ApprovalKey, 12): false, againPrefix + againPrefix + keyOf(mcp.ApprovalKey, 1): false,
	} {
		raw, _ := json.Marshal(map[string]any{key: struct{}{}})
		p, err := pickAnswers(raw, nil)
		if err != nil || p.unknown != 1 || len(p.given()) != map[bool]int{true: 1}[kept] {
			t.Errorf("of the answer to %q are stored %v, %v, want that it is: %v", key, p.given(), err, kept)
		}
	}
}
