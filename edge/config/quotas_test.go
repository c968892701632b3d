package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

func TestQuotaRules(t *testing.T) {
	c := Default()
	c.Quotas = []Quota{
		{Per: "principal", Rate: "600/1m", Burst: 50},
		{Name: "shipping", Per: "principal+tool", Tools: []string{"ship", "ship_*"}, Rate: "10/h"},
		{Per: "tool", Tools: []string{"a", "b"}, Rate: "1/s"},
	}
	got, err := c.QuotaRules()
	want := []quota.Rule{
		{Name: "principal", Per: quota.PerPrincipal, Budget: quota.Budget{Interval: 100 * time.Millisecond, Burst: 50}},
		{Name: "shipping", Per: quota.PerPrincipalTool, Tools: pattern.NewList([]string{"ship", "ship_*"}), Budget: quota.Budget{Interval: 6 * time.Minute, Burst: 10}},
		{Name: "tool a b", Per: quota.PerTool, Tools: pattern.NewList([]string{"a", "b"}), Budget: quota.Budget{Interval: time.Second, Burst: 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// An invalid setting is reported with its place, its value and what to write.
func TestQuotasAreValidated(t *testing.T) {
	good := Quota{Per: "principal", Rate: "600/1m"}
	for want, quotas := range map[string][]Quota{
		`quotas[0] principal: rate: "often" is not a rate: write a whole number of calls`: {{Per: "principal", Rate: "often"}},
		`quotas[1] x: per: "": use principal`:                                             {good, {Name: "x", Rate: "1/s"}},
		`quotas[0] calls: per: "": use principal`:                                         {{Rate: "1/s"}},
		`name: "a\nb": give the rule a name`:                                              {{Name: "a\nb", Per: "tool", Rate: "1/s"}},
		`quotas[0] principal: tools: "" names no tool`:                                    {{Per: "principal", Tools: []string{""}, Rate: "1/s"}},
		`quotas[0] principal: burst: -1: give 1 to`:                                       {{Per: "principal", Rate: "1/s", Burst: -1}},
		`quotas[1] principal: name: "principal" is used twice: give each`:                 {good, good},
		`quotas[0] principal: burst: 400: give 1 to 366, the most calls at once`:          {{Per: "principal", Rate: "1/24h", Burst: 400}},
	} {
		c := Default()
		c.Quotas = quotas
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %s", quotas, err, want)
		}
	}
}
