package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// Quota limits the rate of calls of tools.
type Quota struct {
	// Name of the rule in errors and metrics; empty uses Per and the tools.
	Name string `yaml:"name"`
	// Per is the owner of a budget: principal, principal+tool, principal+backend, client, tool, set or
	// principal+set. Anonymous callers have one for each address.
	Per string `yaml:"per"`
	// Tools are patterns of the names of the tools that it applies to, see internal/pattern; empty
	// means all.
	Tools Names `yaml:"tools"`
	// Sets are patterns of names of sets; the quota applies to calls in these. Empty means all calls.
	Sets Names `yaml:"sets" also:"set"`
	// Rate is the number of calls that the budget regains in a period, such as 600/1m.
	Rate string `yaml:"rate" also:"limit,limits"`
	// Burst is the most calls at once; 0 means the calls of one period.
	Burst int `yaml:"burst"`
}

// QuotaRules converts Quotas.
func (c *Config) QuotaRules() ([]quota.Rule, error) {
	var rules []quota.Rule
	var errs []error
	names := map[string]bool{}
	for i, q := range c.Quotas {
		rule := quota.Rule{Name: q.Name, Per: quota.Per(q.Per), Tools: pattern.NewList(q.Tools), Sets: pattern.NewList(q.Sets)}
		if rule.Name == "" {
			rule.Name = strings.Join(slices.Concat([]string{cmp.Or(q.Per, "calls")}, q.Tools, q.Sets), " ")
		}
		calls, period, err := quota.ParseRate(q.Rate)
		if err == nil {
			rule.Budget = quota.Budget{Interval: period / time.Duration(calls), Burst: cmp.Or(q.Burst, calls)}
			err = rule.Validate()
		} else {
			err = fmt.Errorf("rate: %w", err)
		}
		if err == nil && names[rule.Name] {
			err = fmt.Errorf("name: %q is used twice: give each quota its own", rule.Name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("quotas[%d] %s: %w", i, strings.TrimSpace(rule.Name), err))
			continue
		}
		names[rule.Name] = true
		rules = append(rules, rule)
	}
	return rules, errors.Join(errs...)
}
