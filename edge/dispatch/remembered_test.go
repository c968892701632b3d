package dispatch

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// spending counts how often something is recorded for longer than a call lives: what is remembered.
type spending struct {
	Confirmations
	remembered int
}

func (s *spending) Spend(ctx context.Context, caller, id string, life time.Duration, most int) (bool, error) {
	if life == time.Hour {
		s.remembered++
	}
	return s.Confirmations.Spend(ctx, caller, id, life, most)
}

// A caller is asked only for what is not remembered. The audit and the metric have what was confirmed, and how.
func TestRememberedConfirmationsAreNotAsked(t *testing.T) {
	for _, version := range []string{modern, legacy} {
		g, kept := newGuards(t), &records{}
		store := &spending{Confirmations: g.store}
		tel, err := telemetry.New(t.Context(), telemetry.Options{})
		if err != nil {
			t.Fatal(err)
		}
		log := audit.New(audit.Options{Sinks: map[string]audit.Sink{"kept": kept}, Required: true, Logger: slog.New(slog.DiscardHandler)})
		with := func(messages ...string) *Dispatch {
			s := guarded(messages...)
			s.Confirm[0].Remember = time.Hour
			p, err := policy.Compile(s)
			if err != nil {
				t.Fatal(err)
			}
			return start(t, Options{Access: by(access.New(access.Options{Policy: p, Records: log})), Confirmations: store, Telemetry: tel}, g.f)
		}
		call := func(d *Dispatch, round int, state []byte, answers ...mcp.InputResponse) mcp.Reply {
			t.Helper()
			c := request(t, mcp.MethodToolsCall, `{"name":"`+g.f.prefix+g.f.tools[0].GetName()+`","arguments":{}}`)
			c.Principal = mcp.Principal{Subject: "ann"}
			c.Client, c.Round, c.Attempt, c.State, c.Responses, c.Begun = able, round, 1, state, answers, round > 1 || version == legacy
			r, err := d.Call(t.Context(), rules(t, version), c, nil)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		one, both := with("One?"), with("One?", "Two?")
		call(one, 2, call(one, 1, nil).Input.State, yes()...)
		call(one, 1, nil)
		asked := call(both, 1, nil)
		raw, _ := jsonrpc.Member(asked.Input.Requests[0].Params, "message")
		if text := string(raw); strings.Contains(text, "One?") || !strings.Contains(text, "Two?") {
			t.Errorf("%s: asked %s", version, text)
		}
		call(both, 2, asked.Input.State, yes()...)
		if store.remembered != 1 {
			t.Errorf("%s: remembered %d times", version, store.remembered)
		}
		g.ran(3)
		_ = log.Close(t.Context())
		var got [][]mcp.Confirmed
		for _, r := range kept.kept {
			got = append(got, r.Verdict.Confirmed)
		}
		want := [][]mcp.Confirmed{{{Name: "One?", How: "answered"}}, {{Name: "One?", How: "remembered"}}, {{Name: "One?", How: "remembered"}, {Name: "Two?", How: "answered"}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: recorded -want +got\n%s", version, diff)
		}
		counted := map[string]float64{}
		families, err := tel.Gatherer().Gather()
		for _, f := range families {
			if f.GetName() == "mcpedge_policy_confirmations_total" {
				for _, m := range f.GetMetric() {
					l := m.GetLabel() // by name: the outcome, the replica or scope, and the confirmation
					counted[l[len(l)-1].GetValue()+" "+l[0].GetValue()] = m.GetCounter().GetValue()
				}
			}
		}
		wantCounted := map[string]float64{"One? asked": 1, "One? accepted": 1, "One? remembered": 2, "Two? asked": 1, "Two? accepted": 1}
		if diff := cmp.Diff(wantCounted, counted); err != nil || diff != "" {
			t.Errorf("%s: counted, %v, -want +got\n%s", version, err, diff)
		}
	}
}
