package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// unaccepted are answers that do not confirm, and parts of the errors to them.
var unaccepted = map[string]string{
	`{"action":"decline"}`:                            "the user declined",
	`{"action":"cancel"}`:                             "the user dismissed",
	`{"action":"accept","content":{"confirm":false}}`: "the user declined",
	`{"action":"accept","content":{}}`:                "incomplete",
	`{"action":"other"}`:                              "is not a confirmation",
	`{"error":{"code":-32603,"message":"no screen"}}`: "is not a confirmation",
}

func answerWith(result string) mcp.InputResponse {
	return mcp.InputResponse{Key: confirmKey, Method: mcp.MethodElicit, Result: []byte(result)}
}

// later are the policies in force when an answer arrives to the question for "One?" and "Two?".
func later() map[string]policy.Settings {
	return map[string]policy.Settings{
		"unchanged": guarded("One?", "Two?"), "none": guarded(), "less": guarded("Two?"), "more": guarded("One?", "Two?", "Three?"), "other": guarded("Other?"),
		"denied": {Default: policy.Deny},
	}
}

// An answer that does not confirm ends the call, and its question, whatever the policy requires when it arrives.
func TestRefusedCallsDoNotRun(t *testing.T) {
	for _, version := range []string{modern, legacy} {
		for what, then := range later() {
			for result, why := range unaccepted {
				g, rules := newGuards(t), rules(t, version)
				state := g.ask(g.with(guarded("One?", "Two?")), rules)
				r, err := g.call(g.with(then), rules, 2, state, answerWith(result))
				e := mcp.AsError(err)
				if err == nil || e.Kind != mcp.KindForbidden || what != "denied" && !strings.Contains(e.Message, why) {
					t.Errorf("%s, %s, %s: %s, %v", version, what, result, r.Result, err)
				}
				if what != "denied" && !strings.Contains(e.Message, `"One?", "Two?"`) {
					t.Errorf("%s, %s, %s: the confirmations are not named: %v", version, what, result, err)
				}
				for _, s := range []policy.Settings{guarded(), guarded("One?", "Two?")} {
					for _, again := range []mcp.InputResponse{yes()[0], answerWith(result)} {
						r, err := g.call(g.with(s), rules, 2, state, again)
						if err == nil || mcp.AsError(err).Kind != mcp.KindForbidden || !strings.Contains(err.Error(), "not run") {
							t.Errorf("%s, %s, %s, then %s: %s, %v", version, what, result, again.Result, r.Result, err)
						}
					}
				}
				g.ran(0)
			}
		}
	}
}

// An acceptance runs a call once if no more than what was asked is required when it arrives. Otherwise it is asked about again, and the
// first question is not answered again.
func TestAcceptedCallsRunOnce(t *testing.T) {
	for _, version := range []string{modern, legacy} {
		for what, then := range later() {
			g, rules := newGuards(t), rules(t, version)
			state := g.ask(g.with(guarded("One?", "Two?")), rules)
			r, err := g.call(g.with(then), rules, 2, state, yes()...)
			switch what {
			case "denied": // The answer can be sent again.
				if err == nil {
					t.Errorf("%s, %s: %s", version, what, r.Result)
				}
				r, err = g.call(g.with(guarded("One?")), rules, 2, state, yes()...)
			case "more", "other":
				if key(t, r, err) != confirmKey {
					t.Errorf("%s, %s: not asked again", version, what)
				}
				if _, err := g.call(g.with(guarded("Two?")), rules, 2, state, yes()...); err == nil || mcp.AsError(err).Kind != mcp.KindForbidden {
					t.Errorf("%s, %s: the first question again: %v", version, what, err)
				}
				r, err = g.call(g.with(then), rules, 3, r.Input.State, yes()...)
			}
			if err != nil || r.Result == nil {
				t.Errorf("%s, %s: %+v, %v", version, what, r, err)
			}
			g.ran(1)
			for name, s := range later() {
				if _, err := g.call(g.with(s), rules, 2, state, yes()...); err == nil {
					t.Errorf("%s, %s, then %s: accepted again", version, what, name)
				}
				if _, err := g.call(g.with(s), rules, 2, state, answerWith(`{"action":"decline"}`)); err == nil {
					t.Errorf("%s, %s, then %s: declined afterwards", version, what, name)
				}
			}
			g.ran(1)
		}
	}
}

// A state with a question is used once also if no answer is sent with it because nothing is required any more.
func TestUnansweredQuestionsAreUsedOnce(t *testing.T) {
	for _, version := range []string{modern, legacy} {
		g, rules := newGuards(t), rules(t, version)
		state, open := g.ask(g.with(guarded("One?")), rules), g.with(guarded())
		if r, err := g.call(open, rules, 2, state); err != nil || r.Result == nil {
			t.Errorf("%s: %+v, %v", version, r, err)
		}
		for _, answers := range [][]mcp.InputResponse{nil, yes(), {answerWith(`{"action":"decline"}`)}} {
			if _, err := g.call(open, rules, 2, state, answers...); err == nil || mcp.AsError(err).Kind != mcp.KindUnknownOutcome {
				t.Errorf("%s: again: %v", version, err)
			}
		}
		g.ran(1)
	}
}

// An answer to the question of a process with another store declines, and does not confirm where nothing is required any more: it may have
// been used there.
func TestAnswersToOtherStores(t *testing.T) {
	for _, version := range []string{modern, legacy} {
		g, rules := newGuards(t), rules(t, version)
		state := g.ask(g.with(guarded("One?")), rules)
		g.store = once.NewMemory(100)
		for _, s := range []policy.Settings{guarded(), guarded("One?")} {
			if _, err := g.call(g.with(s), rules, 2, state, answerWith(`{"action":"decline"}`)); err == nil || mcp.AsError(err).Kind != mcp.KindForbidden {
				t.Errorf("%s: declined: %v", version, err)
			}
		}
		if _, err := g.call(g.with(guarded()), rules, 2, state, yes()...); err == nil || mcp.AsError(err).Kind != mcp.KindUnknownOutcome {
			t.Errorf("%s: accepted: %v", version, err)
		}
		g.ran(0)
	}
}

// behind is a store that records what is used, and reports that too few places have it.
type behind struct{ Confirmations }

func (b behind) Spend(ctx context.Context, caller, id string, life time.Duration, most int) (bool, error) {
	fresh, err := b.Confirmations.Spend(ctx, caller, id, life, most)
	if fresh && err == nil {
		err = errors.New("0 of the 1 replicas")
	}
	return fresh, err
}

// A call whose confirmation is recorded as used in too few places does not run, whatever the answer was, and the confirmation stays used.
func TestUnacknowledgedConfirmationsAreUsed(t *testing.T) {
	for _, version := range []string{modern, legacy} {
		for what, answer := range map[string][]mcp.InputResponse{"accepted": yes(), "declined": {answerWith(`{"action":"decline"}`)}} {
			g, rules := newGuards(t), rules(t, version)
			state := g.ask(g.with(guarded("One?")), rules)
			store := g.store
			g.store = behind{store}
			_, err := g.call(g.with(guarded("One?")), rules, 2, state, answer...)
			if e := mcp.AsError(err); err == nil || e.Kind != mcp.KindStateUnavailable || !strings.Contains(e.Message, "was not run") ||
				strings.Contains(e.Message, "without requestState") != rules.Stateless {
				t.Errorf("%s, %s: %v", version, what, err)
			}
			g.store = store
			if _, err := g.call(g.with(guarded("One?")), rules, 2, state, yes()...); err == nil || mcp.AsError(err).Kind != mcp.KindUnknownOutcome {
				t.Errorf("%s, %s, then accepted: %v", version, what, err)
			}
			g.ran(0)
		}
	}
}
