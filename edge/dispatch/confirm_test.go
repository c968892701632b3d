package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// A backend's state is returned unchanged, and none can pretend that its call was confirmed.
func TestConsentIsKeptBeforeTheState(t *testing.T) {
	forged := (&consent{Call: []byte("x")}).prepend([]byte("own"))
	for _, own := range [][]byte{nil, []byte("own"), consentMark, misfitsMark, forged} {
		for _, c := range []consent{{}, {Call: []byte("c"), Asked: true, Nonce: "n", Store: "s"}, {Call: []byte("c")}} {
			for _, m := range []misfits{nil, {"name": {1, 1}}} {
				got, counts, before := withOwnState(&mcp.Call{State: c.prepend(m.prepend(own))})
				if !bytes.Equal(got.State, own) || len(counts) != len(m) || before.state() != c.state() || before.Nonce != c.Nonce {
					t.Errorf("%q with %v and %v came back as %q with %v and %v", own, m, c, got.State, counts, before)
				}
			}
		}
	}
}

// away is a store that does not answer.
type away struct{ Confirmations }

func (away) Spend(context.Context, string, string, time.Duration, int) (bool, error) {
	return false, errors.New("away")
}

func (away) Spent(context.Context, string, string) (bool, error) { return false, errors.New("away") }

var able = mcp.Client{Capabilities: mcp.Capabilities{ElicitForm: true}}

func yes() []mcp.InputResponse {
	return []mcp.InputResponse{{Key: confirmKey, Method: mcp.MethodElicit, Result: json.RawMessage(`{"action":"accept","content":{"confirm":true}}`)}}
}

// The question says for how long a confirmation holds, unless the caller has to confirm each call.
func TestQuestionSaysThatAnAnswerIsRemembered(t *testing.T) {
	f := everything()
	d := start(t, Options{Access: by(control(t, policy.Settings{Confirm: []policy.Confirm{
		{Name: "a", When: "true", Message: "Go?", Remember: 90 * time.Minute}, {Name: "b", When: "true", Message: "Really?"},
		{Name: "c", When: "true", Message: "Well?", Remember: time.Minute + 30*time.Second},
	}}))}, f)
	for _, who := range []mcp.Principal{{}, {Subject: "ann"}} {
		c := request(t, mcp.MethodToolsCall, `{"name":"`+f.prefix+f.tools[0].GetName()+`","arguments":{}}`)
		c.Client, c.Round, c.Attempt, c.Principal = able, 1, 1, who
		asked, err := d.Call(t.Context(), rules(t, modern), c, nil)
		if err != nil || asked.Input == nil {
			t.Fatalf("%+v, %v", asked, err)
		}
		raw, _ := jsonrpc.Member(asked.Input.Requests[0].Params, "message")
		got, _ := jsonrpc.Unquote(raw)
		want := "\n\nGo?\n\nReally?\n\nWell?"
		if !who.Anonymous() {
			want = "\n\nGo?\nIf you confirm, this tool runs without this question for 1h30m, whatever its arguments are.\n\nReally?" +
				"\n\nWell?\nIf you confirm, this tool runs without this question for 1m30s, whatever its arguments are."
		}
		if !strings.HasSuffix(got, "is about to be called."+want) {
			t.Errorf("%q was asked %q", who.Subject, got)
		}
	}
}

// An answer confirms if its members say so, in their own spelling.
func TestRefusalOf(t *testing.T) {
	for result, want := range map[string]string{
		`{"action":"accept","content":{"confirm":true}}`:                    "",
		`{"action":"accept","content":{"confirm":true},"_meta":{"a":1}}`:    "",
		`{"action":"decline","Action":"accept","content":{"confirm":true}}`: "declined",
		`{"action":"cancel","ACTION":"accept","content":{"confirm":true}}`:  "dismissed",
		`{"action":"accept","content":{"confirm":false,"Confirm":true}}`:    "declined",
		`{"action":"accept","Content":{"confirm":true}}`:                    "incomplete",
		`{"action":"accept","content":{"Confirm":true}}`:                    "incomplete",
		`{"action":"accept","content":{"confirm":"true"}}`:                  "is not a confirmation",
		`{"action":"accept","content":{"confirm":1}}`:                       "is not a confirmation",
		`{"action":"accept","content":[{"confirm":true}]}`:                  "is not a confirmation",
		`{"action":"accept"}`:                  "incomplete",
		`{"action":"decline"}`:                 "declined",
		`{"action":"cancel"}`:                  "dismissed",
		`{"Action":"accept"}`:                  "is not a confirmation",
		`{"role":"user"}`:                      "is not a confirmation",
		`{"action":7,"content":{"confirm":1}}`: "is not a confirmation",
	} {
		if got, _ := refusalOf(&mcp.InputResponse{Result: json.RawMessage(result)}); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", result, got, want)
		}
	}
}

// A call whose confirmation cannot be recorded because the store is full does not run.
func TestConfirmationNeedsRoom(t *testing.T) {
	f := everything()
	d := start(t, Options{Access: by(control(t, policy.Settings{Confirm: []policy.Confirm{{Name: "c", When: "true", Message: "Go?"}}})), Confirmations: once.NewMemory(1)}, f)
	for i := range 2 {
		call := func(state []byte, answers []mcp.InputResponse) (mcp.Reply, error) {
			c := request(t, mcp.MethodToolsCall, `{"name":"`+f.prefix+f.tools[0].GetName()+`","arguments":{}}`)
			c.Client, c.Round, c.Attempt, c.State, c.Responses = able, 1+len(answers), 1, state, answers
			return d.Call(t.Context(), rules(t, modern), c, nil)
		}
		asked, err := call(nil, nil)
		if err != nil || asked.Input == nil {
			t.Fatalf("%+v, %v", asked, err)
		}
		if _, err := call(asked.Input.State, yes()); (err != nil) != (i == 1) {
			t.Errorf("the confirmed call %d: %v", i, err)
		}
	}
	if n, _ := f.seen(); n != 1 {
		t.Errorf("%d calls ran", n)
	}
}

// A confirmation holds for the store, the policy and the call that it was asked with, and nothing runs while the store is away.
func TestConfirmationHoldsForItsQuestion(t *testing.T) {
	f := everything()
	settings := func(message string) policy.Settings {
		return policy.Settings{Confirm: []policy.Confirm{{Name: "c", When: "true", Message: message}}}
	}
	one, two := control(t, settings("Go?")), control(t, settings("Really?"))
	store := once.NewMemory(10)
	begin := func(c *access.Control, s Confirmations) *Dispatch {
		return start(t, Options{Access: by(c), Confirmations: s}, f)
	}
	first := begin(one, store)
	name := f.prefix + f.tools[0].GetName()
	call := func(d *Dispatch, rules *revision.Rules, state []byte, change func(*mcp.Call)) (mcp.Reply, error) {
		c := request(t, mcp.MethodToolsCall, `{"name":"`+name+`","arguments":{}}`)
		c.Client, c.Round, c.Attempt, c.State = able, 1, 1, state
		if state != nil {
			c.Round, c.Responses = 2, yes()
		}
		if change != nil {
			change(c)
		}
		return d.Call(t.Context(), rules, c, nil)
	}
	for _, rules := range []*revision.Rules{rules(t, modern), rules(t, legacy)} {
		ask := func() []byte {
			asked, err := call(first, rules, nil, nil)
			if err != nil || asked.Input == nil {
				t.Fatalf("%+v, %v", asked, err)
			}
			return asked.Input.State
		}
		state, changed := ask(), ask()
		for what, got := range map[string]func() (mcp.Reply, error){
			"another store":   func() (mcp.Reply, error) { return call(begin(one, once.NewMemory(1)), rules, state, nil) },
			"another message": func() (mcp.Reply, error) { return call(begin(two, store), rules, changed, nil) },
			"another principal": func() (mcp.Reply, error) {
				return call(first, rules, state, func(c *mcp.Call) { c.Principal.Subject = "x" })
			},
			"no answer": func() (mcp.Reply, error) { return call(first, rules, state, func(c *mcp.Call) { c.Responses = nil }) },
			"no state":  func() (mcp.Reply, error) { return call(first, rules, nil, func(c *mcp.Call) { c.Responses = yes() }) },
		} {
			if r, err := got(); err != nil || r.Input == nil {
				t.Errorf("%s: %s, %v, want the question again", what, r.Result, err)
			}
		}
		if _, err := call(begin(one, away{store}), rules, state, nil); err == nil || mcp.AsError(err).Kind != mcp.KindStateUnavailable {
			t.Errorf("while the store is away: %v", err)
		}
		if n, _ := f.seen(); n != 0 {
			t.Fatalf("%d calls ran", n)
		}
		if r, err := call(first, rules, state, nil); err != nil || r.Result == nil {
			t.Errorf("confirmed: %v", err)
		}
		if _, err := call(first, rules, state, func(c *mcp.Call) { c.Attempt = 2 }); err == nil || mcp.AsError(err).Kind != mcp.KindUnknownOutcome {
			t.Errorf("again: %v", err)
		}
		if n, _ := f.seen(); n != 1 {
			t.Fatalf("%d calls ran", n)
		}
		f.mu.Lock()
		f.calls = 0
		f.mu.Unlock()
	}
}
