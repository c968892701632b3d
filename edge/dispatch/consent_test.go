package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// guarded returns the settings of a policy with a confirmation of each message.
func guarded(messages ...string) policy.Settings {
	s := policy.Settings{Default: policy.Allow}
	for _, m := range messages {
		s.Confirm = append(s.Confirm, policy.Confirm{Name: m, When: "true", Message: m})
	}
	return s
}

// guards makes dispatches over one backend and one store, whose policies differ.
type guards struct {
	t     *testing.T
	f     *fake
	store Confirmations
}

func newGuards(t *testing.T) *guards { return &guards{t, everything(), once.NewMemory(100)} }

func (g *guards) with(s policy.Settings) *Dispatch {
	return start(g.t, Options{Access: by(control(g.t, s)), Confirmations: g.store}, g.f)
}

// call runs a round of a call of the first tool, after another one if state is not nil.
func (g *guards) call(d *Dispatch, rules *revision.Rules, round int, state []byte, answers ...mcp.InputResponse) (mcp.Reply, error) {
	g.t.Helper()
	c := request(g.t, mcp.MethodToolsCall, `{"name":"`+g.f.prefix+g.f.tools[0].GetName()+`","arguments":{}}`)
	c.Client, c.Round, c.Attempt, c.State, c.Responses, c.Begun = able, round, 1, state, answers, round > 1 || !rules.Stateless
	return d.Call(g.t.Context(), rules, c, nil)
}

// ask runs a first round, which asks, and returns its state.
func (g *guards) ask(d *Dispatch, rules *revision.Rules) []byte {
	g.t.Helper()
	asked, err := g.call(d, rules, 1, nil)
	if err != nil || asked.Input == nil {
		g.t.Fatalf("%s, %v", asked.Result, err)
	}
	return asked.Input.State
}

func (g *guards) ran(want int) {
	g.t.Helper()
	if n, _ := g.f.seen(); n != want {
		g.t.Errorf("%d calls ran, want %d", n, want)
	}
}

// records keeps the records of the audit.
type records struct{ kept []audit.Record }

func (k *records) Write(_ context.Context, r []audit.Record) (int, error) {
	k.kept = append(k.kept, r...)
	return len(r), nil
}

func (*records) Close(context.Context) error { return nil }

// What the round before stored, the answer, and the confirmations that are required now decide on the state of a round.
func TestConsentStates(t *testing.T) {
	g, rules := newGuards(t), rules(t, modern)
	none, one, two := g.with(guarded()), g.with(guarded("One?")), g.with(guarded("One?", "Two?"))
	stored := func(change func(*consent)) []byte {
		c, rest := openConsent(g.ask(one, rules))
		change(&c)
		return c.prepend(rest)
	}
	asks := stored(func(*consent) {})
	held := stored(func(c *consent) { c.Asked, c.Nonce = false, "" })
	awaits := stored(func(c *consent) { c.Has, c.Asked, c.Awaits = nil, false, c.Has })
	otherCall := stored(func(c *consent) { c.Call = []byte("another") })
	otherStore := stored(func(c *consent) { c.Store = "another" })
	for name, c := range map[string]struct {
		state          []byte
		answers        []mcp.InputResponse
		required       *Dispatch
		begins, states consentState
		has            int
	}{
		"nothing is required":                 {nil, nil, none, consentNone, consentNone, 0},
		"a first round":                       {nil, nil, one, consentNone, consentAsks, 0},
		"an answer without a question":        {nil, yes(), one, consentNone, consentAsks, 0},
		"accepted":                            {asks, yes(), one, consentAsks, consentAccepted, 1},
		"no answer":                           {asks, nil, one, consentAsks, consentAsks, 0},
		"accepted, more is required":          {asks, yes(), two, consentAsks, consentAsks, 0},
		"accepted, nothing is required":       {asks, yes(), none, consentAsks, consentAccepted, 1},
		"no answer, nothing is required":      {asks, nil, none, consentAsks, consentNone, 0},
		"another call was accepted":           {otherCall, yes(), one, consentAsks, consentAsks, 0},
		"... and nothing is required":         {otherCall, yes(), none, consentAsks, consentAccepted, 0},
		"accepted at another store":           {otherStore, yes(), one, consentAsks, consentAsks, 0},
		"... and nothing is required now":     {otherStore, yes(), none, consentAsks, consentAccepted, 1},
		"a later round":                       {held, nil, one, consentHeld, consentHeld, 1},
		"a later round, more is required":     {held, nil, two, consentHeld, consentAsks, 0},
		"a later round, nothing is required":  {held, nil, none, consentHeld, consentNone, 0},
		"the approvers' answer":               {awaits, yes(), one, consentAwaits, consentAsks, 0},
		"the approvers' answer, none applies": {awaits, yes(), none, consentAwaits, consentNone, 0},
	} {
		t.Run(name, func(t *testing.T) {
			call := request(t, mcp.MethodToolsCall, `{"name":"`+g.f.prefix+g.f.tools[0].GetName()+`","arguments":{}}`)
			call.Client, call.State, call.Responses = able, c.state, c.answers
			resolved, err := c.required.Resolve(t.Context(), rules, call)
			if err != nil {
				t.Fatal(err)
			}
			r := resolved.Handle.(*round)
			r.setCall(call)
			begins := r.state
			r.holds = new(consent)
			r.applyAnswer([]byte(`{}`))
			if has := len(r.holds.Has); begins != c.begins || r.state != c.states || r.state != consentAsks && has != c.has {
				t.Errorf("from %d to %d with %d confirmations, want from %d to %d with %d", begins, r.state, len(r.holds.Has), c.begins, c.states, c.has)
			}
		})
	}
}

// A call is recorded as allowed once, whether the confirmation that it was asked for still applies at the answer or not.
func TestConfirmedCallsAreRecorded(t *testing.T) {
	for _, version := range []string{modern, legacy} {
		for what, second := range map[string]policy.Settings{"unchanged": guarded("Go?"), "no longer": guarded()} {
			g, kept := newGuards(t), &records{}
			log := audit.New(audit.Options{Sinks: map[string]audit.Sink{"kept": kept}, Required: true, Logger: slog.New(slog.DiscardHandler)})
			begin := func(s policy.Settings) *Dispatch {
				p, err := policy.Compile(s)
				if err != nil {
					t.Fatal(err)
				}
				return start(t, Options{Access: by(access.New(access.Options{Policy: p, Records: log})), Confirmations: g.store}, g.f)
			}
			state := g.ask(begin(guarded("Go?")), rules(t, version))
			if r, err := g.call(begin(second), rules(t, version), 2, state, yes()...); err != nil || r.Result == nil {
				t.Errorf("%s, %s: %+v, %v", version, what, r, err)
			}
			_ = log.Close(t.Context())
			if len(kept.kept) != 1 || kept.kept[0].Verdict.Effect != audit.Allow || kept.kept[0].Verdict.Rule != policy.RuleDefault {
				t.Errorf("%s, %s: records %+v", version, what, kept.kept)
			}
			g.ran(1)
		}
	}
}

// storing is a store that notes for whom and for how long a nonce is kept.
type storing struct {
	Confirmations
	caller string
	life   time.Duration
}

func (s *storing) Spend(ctx context.Context, caller, id string, life time.Duration, most int) (bool, error) {
	s.caller, s.life = caller, life
	return s.Confirmations.Spend(ctx, caller, id, life, most)
}

// A used confirmation is kept for little longer than it is accepted, for the address that was asked if the caller is
// anonymous. The state is the same one, whichever caller sends it and from wherever.
func TestUsedConfirmationsExpire(t *testing.T) {
	store := &storing{Confirmations: once.NewMemory(10)}
	synctest.Test(t, func(t *testing.T) {
		d := &Dispatch{opts: Options{CallLifetime: 10 * time.Minute, Confirmations: store}}
		r := &round{d: d, rules: rules(t, modern), call: &mcp.Call{Method: mcp.MethodToolsCall, From: netip.MustParseAddr("192.0.2.1")}}
		c := consent{Call: []byte("x"), Asked: true}
		r.issueNonce(&c)
		opened, _ := openConsent(c.prepend(nil))
		r.before = &opened
		time.Sleep(9 * time.Minute)
		r.call.From = netip.MustParseAddr("192.0.2.2")
		if err := r.spendNonce(t.Context()); err != nil || store.life != 2*time.Minute || !strings.HasSuffix(store.caller, "192.0.2.1") {
			t.Errorf("%v, kept for %q and %v", err, store.caller, store.life)
		}
		if err := r.spendNonce(t.Context()); err == nil || mcp.AsError(err).Kind != mcp.KindUnknownOutcome {
			t.Errorf("again: %v", err)
		}
		time.Sleep(time.Minute)
		r.before.Nonce = "another"
		if err := r.spendNonce(t.Context()); err == nil || mcp.AsError(err).Kind != mcp.KindUnknownOutcome {
			t.Errorf("after its time: %v", err)
		}
	})
}

// A refusal is final: one that cannot be recorded is not accepted, and can be sent again.
func TestRefusalsAreFinal(t *testing.T) {
	g := newGuards(t)
	no := mcp.InputResponse{Key: confirmKey, Method: mcp.MethodElicit, Result: []byte(`{"action":"decline"}`)}
	kind := func(what string, d *Dispatch, state []byte, answer mcp.InputResponse, want mcp.Kind) {
		t.Helper()
		if r, err := g.call(d, rules(t, modern), 2, state, answer); err == nil || mcp.AsError(err).Kind != want {
			t.Errorf("%s: %s, %v", what, r.Result, err)
		}
	}
	d := g.with(guarded("Go?"))
	state, store := g.ask(d, rules(t, modern)), g.store
	g.store = away{store}
	kind("while the store is away", g.with(guarded("Go?")), state, no, mcp.KindStateUnavailable)
	kind("declined", d, state, no, mcp.KindForbidden)
	kind("confirmed afterwards", d, state, yes()[0], mcp.KindForbidden)
	g.ran(0)
}

// asks is a tool that asks the user for a name, with its own state, before it runs. It notes the rounds.
func asks(notes *[]*pb.CallToolRequest) func(*pb.CallToolRequest, grpc.ServerStreamingServer[pb.CallToolResponse]) error {
	return func(in *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		*notes = append(*notes, in)
		if len(in.GetInputResponses()) > 0 {
			return s.Send(toolText("done"))
		}
		return s.Send(&pb.CallToolResponse{Message: &pb.CallToolResponse_InputRequired{InputRequired: &pb.InputRequired{
			State: []byte("own"), Requests: []*pb.InputRequest{{Key: "name", Request: &pb.InputRequest_ElicitForm{ElicitForm: &pb.ElicitForm{
				Message: "Which?", RequestedSchemaJson: `{"type":"object","properties":{"name":{"type":"string"}}}`,
			}}}},
		}}})
	}
}

// answeredName is the answer to the question of asks.
func answeredName() mcp.InputResponse {
	return mcp.InputResponse{Key: "name", Method: mcp.MethodElicit, Result: []byte(`{"action":"accept","content":{"name":"x"}}`)}
}

// key returns the key of the only question of a round.
func key(t *testing.T, r mcp.Reply, err error) string {
	t.Helper()
	if err != nil || r.Input == nil || len(r.Input.Requests) != 1 {
		t.Fatalf("%s, %v", r.Result, err)
	}
	return r.Input.Requests[0].Key
}

// A call that was confirmed is asked about again once other confirmations apply, also if none applied in between.
func TestLaterConfirmationsAreAskedFor(t *testing.T) {
	for _, version := range []string{modern, legacy} {
		for what, between := range map[string][]string{"added": {"One?"}, "changed": {"Other?"}, "none between": nil} {
			g := newGuards(t)
			var notes []*pb.CallToolRequest
			g.f.onCall = asks(&notes)
			rules := rules(t, version)
			one := g.with(guarded("One?"))
			r, err := g.call(one, rules, 2, g.ask(one, rules), yes()...)
			if got := key(t, r, err); got != "name" {
				t.Fatalf("asked %q", got)
			}
			round := 3
			if between == nil { // The tool asks again, and no confirmation applies.
				r, err = g.call(g.with(guarded()), rules, round, r.Input.State)
				if got := key(t, r, err); got != "name" {
					t.Fatalf("asked %q", got)
				}
				round++
			}
			two := g.with(guarded(append(between, "Two?")...))
			if r, err = g.call(two, rules, round, r.Input.State, answeredName()); key(t, r, err) != confirmKey {
				t.Fatalf("%s, %s: not asked", version, what)
			}
			// An answer that is missing is asked for again. What the client answered to the tool is kept meanwhile.
			if r, err = g.call(two, rules, round+1, r.Input.State); key(t, r, err) != confirmKey {
				t.Fatalf("%s, %s: not asked again", version, what)
			}
			r, err = g.call(two, rules, round+2, r.Input.State, yes()...)
			for i, n := range notes {
				if got := n.GetContext().GetRound(); got != uint32(i+1) {
					t.Errorf("%s, %s: the tool's round %d has the number %d", version, what, i+1, got)
				}
			}
			last := notes[len(notes)-1]
			if err != nil || r.Result == nil || string(last.GetState()) != "own" || len(last.GetInputResponses()) != 1 {
				t.Errorf("%s, %s: %s, %v, the tool got %v", version, what, r.Result, err, last)
			}
		}
	}
}

// A round with more answers than can be kept is refused.
func TestLargeAnswersAreNotKept(t *testing.T) {
	g := newGuards(t)
	large := mcp.InputResponse{Key: "name", Method: mcp.MethodElicit, Result: []byte(`"` + strings.Repeat("x", mcp.MaxState) + `"`)}
	if r, err := g.call(g.with(guarded("Go?")), rules(t, modern), 1, nil, large); err == nil || mcp.AsError(err).Kind != mcp.KindForbidden {
		t.Errorf("%+v, %v", r, err)
	}
	g.ran(0)
}

// What a full store does not accept is refused as what a caller has too much of is: waiting helps.
func TestFullStoreRefuses(t *testing.T) {
	g := newGuards(t)
	g.store = once.NewMemory(0)
	d := g.with(guarded("Go?"))
	_, err := g.call(d, rules(t, modern), 2, g.ask(d, rules(t, modern)), yes()...)
	if e := mcp.AsError(err); err == nil || e.Kind != mcp.KindLimit || e.RetryAfter == 0 {
		t.Error(err)
	}
	g.ran(0)
}

// A round that the backend declares repeatable, by which a client follows an operation, may be sent again.
func TestRepeatableRoundsAreNotUsedUp(t *testing.T) {
	g, rules := newGuards(t), rules(t, modern)
	in := &pb.InputRequired{State: []byte("own"), Repeatable: true}
	g.f.onCall = stream(nil, &pb.CallToolResponse{Message: &pb.CallToolResponse_InputRequired{InputRequired: in}})
	d := g.with(guarded("Go?"))
	state := g.ask(d, rules)
	polled, err := g.call(d, rules, 2, state, yes()...)
	if err != nil || polled.Input == nil {
		t.Fatalf("%s, %v", polled.Result, err)
	}
	for range 2 {
		if again, err := g.call(d, rules, 3, polled.Input.State); err != nil || again.Input == nil || len(again.Input.Requests) > 0 {
			t.Errorf("%+v, %v", again.Input, err)
		}
	}
	if _, err := g.call(d, rules, 2, state, yes()...); err == nil || mcp.AsError(err).Kind != mcp.KindUnknownOutcome {
		t.Errorf("the first state again: %v", err)
	}
	g.ran(3)
}

// A later round that comes to a process with another store is not said to have been used.
func TestRoundsOfAnotherStore(t *testing.T) {
	g, rules := newGuards(t), rules(t, modern)
	var notes []*pb.CallToolRequest
	g.f.onCall = asks(&notes)
	d := g.with(guarded("Go?"))
	r, err := g.call(d, rules, 2, g.ask(d, rules), yes()...)
	if key(t, r, err) != "name" {
		t.Fatal("the tool does not ask")
	}
	g.store = once.NewMemory(10)
	_, err = g.call(g.with(guarded("Go?")), rules, 3, r.Input.State, answeredName())
	if e := mcp.AsError(err); e.Kind != mcp.KindUnknownOutcome || !strings.Contains(string(e.Data), "confirmation_unknown") {
		t.Errorf("%v, %s", err, e.Data)
	}
	g.ran(1)
}

// What an operator has disabled is not asked about, nor refused by a confirmation.
func TestDisabledToolsAreNotConfirmed(t *testing.T) {
	g := newGuards(t)
	broken := policy.Confirm{Name: "broken", When: "arguments.absent == 1", Message: "Go?"}
	d := g.with(policy.Settings{Default: policy.Allow, Confirm: []policy.Confirm{broken}})
	if _, err := g.call(d, rules(t, modern), 1, nil); err == nil || !strings.Contains(err.Error(), "confirmation") {
		t.Errorf("enabled: %v", err)
	}
	d.Catalog().Disable(off("tool:a/one"))
	if _, err := g.call(d, rules(t, modern), 1, nil); err == nil || strings.Contains(err.Error(), "confirmation") {
		t.Errorf("disabled: %v", err)
	}
}

// leastAllocs returns the allocations of fn, the minimum of several measurements, as each includes those of the whole process.
func leastAllocs(fn func()) float64 {
	least := testing.AllocsPerRun(100, fn)
	for range 9 {
		least = min(least, testing.AllocsPerRun(100, fn))
	}
	return least
}

// Calls under a policy without confirmations do not pay for them.
func TestNoConfirmationsCostNothing(t *testing.T) {
	for costs, s := range map[bool]policy.Settings{false: guarded(), true: guarded("Go?")} {
		d := newGuards(t).with(s)
		c := request(t, mcp.MethodToolsCall, `{"name":"one","arguments":{}}`)
		resolved, err := d.Resolve(t.Context(), rules(t, modern), c)
		if err != nil {
			t.Fatal(err)
		}
		r := resolved.Handle.(*round)
		if n := leastAllocs(func() { err = errors.Join(err, r.findRequirements(t.Context())) }); err != nil || (n > 0) != costs {
			t.Errorf("%v, with confirmations %t: %v allocations", err, costs, n)
		}
	}
}
