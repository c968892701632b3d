package dispatch

import (
	"context"
	"log/slog"
	"testing"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
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
