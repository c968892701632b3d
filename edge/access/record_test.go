package access

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/revision"
)

type brokenSink struct{}

func (brokenSink) Write(context.Context, []audit.Record) (int, error) { return 0, errors.New("full") }

func (brokenSink) Close(context.Context) error { return nil }

// A hidden target cannot be distinguished from a missing one, even if records cannot be written,
// since a missing one is not recorded.
func TestHiddenWhileNothingIsRecorded(t *testing.T) {
	for effect, want := range map[policy.Effect]mcp.Kind{policy.Hide: 0, policy.Deny: mcp.KindStateUnavailable} {
		records := audit.New(audit.Options{
			Sinks: map[string]audit.Sink{"broken": brokenSink{}}, Required: true, Queue: 1, Logger: slog.New(slog.DiscardHandler),
		})
		c := governed(t, Options{Records: records}, policy.Settings{Default: effect})
		_, err := c.InForce().Decide(t.Context(), revision.Stateless(), &mcp.Call{Attempt: 1}, &tool, none)
		if effect == policy.Hide {
			if !errors.Is(err, policy.ErrHidden) {
				t.Errorf("%s: %v, want that it is hidden", effect, err)
			}
		} else if e := mcp.AsError(err); e.Kind != want {
			t.Errorf("%s: %v, want a refusal", effect, err)
		}
		if records.Refused() != 1 {
			t.Errorf("%s: %d requests were counted as refused", effect, records.Refused())
		}
		_ = records.Close(t.Context())
	}
}

// keeping keeps all records in memory.
type keeping struct{ records []audit.Record }

func (k *keeping) Write(_ context.Context, r []audit.Record) (int, error) {
	k.records = append(k.records, r...)
	return len(r), nil
}

func (*keeping) Close(context.Context) error { return nil }

// The record of an allowed call names the rule that allowed it, with and without quotas. Without a
// policy it names none.
func TestAllowedCallsNameTheirRule(t *testing.T) {
	rules := []policy.Rule{{Name: "staff", When: "true", Then: policy.Allow}}
	quotas := quota.New(quota.Options{Rules: []quota.Rule{{Name: "q", Per: quota.PerTool, Budget: quota.Budget{Interval: time.Hour, Burst: 9}}}})
	for name, c := range map[string]struct {
		settings *policy.Settings
		quotas   *quota.Limiter
		want     audit.Verdict
	}{
		"a rule":             {&policy.Settings{Default: policy.Deny, Rules: rules}, nil, audit.Verdict{Effect: audit.Allow, By: audit.ByPolicy, Rule: "staff"}},
		"a rule, and quotas": {&policy.Settings{Default: policy.Deny, Rules: rules}, quotas, audit.Verdict{Effect: audit.Allow, By: audit.ByPolicy, Rule: "staff"}},
		"no rule":            {&policy.Settings{Default: policy.Allow}, quotas, audit.Verdict{Effect: audit.Allow, By: audit.ByPolicy, Rule: policy.RuleDefault}},
		"quotas alone":       {nil, quotas, audit.Verdict{Effect: audit.Allow, By: audit.ByQuota}},
		"neither":            {nil, nil, audit.Verdict{Effect: audit.Allow}},
	} {
		kept := &keeping{}
		o := Options{Quotas: c.quotas, Records: audit.New(audit.Options{Sinks: map[string]audit.Sink{"kept": kept}, Required: true, Logger: slog.New(slog.DiscardHandler)})}
		control := New(o)
		if c.settings != nil {
			control = governed(t, o, *c.settings)
		}
		call := &mcp.Call{Method: mcp.MethodToolsCall, Round: 1, Attempt: 1}
		permit, err := control.InForce().Decide(t.Context(), revision.Stateless(), call, &tool, none)
		if err == nil {
			err = permit.Allow(t.Context(), call, Granted{}, false)
		}
		_ = o.Records.Close(t.Context())
		if err != nil || len(kept.records) != 1 {
			t.Errorf("%s: %v, %d records", name, err, len(kept.records))
			continue
		}
		if diff := cmp.Diff(c.want, kept.records[0].Verdict); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
