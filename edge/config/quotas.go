package config

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// Quota limits how often tools are called.
type Quota struct {
	// Name of the rule in errors and metrics; empty: per, and the tools.
	Name string `yaml:"name"`
	// Per is whom a budget belongs to: principal, principal+tool, principal+backend, client or tool. Callers who are not
	// authenticated have one for each address.
	Per string `yaml:"per"`
	// Tools are patterns for the names of the tools that it is about, see internal/pattern; none: all.
	Tools []string `yaml:"tools"`
	// Rate is how many calls are regained in a period, such as 600/1m.
	Rate string `yaml:"rate" also:"limit,limits"`
	// Burst is the most calls at once; 0: as many as the rate's period has.
	Burst int `yaml:"burst"`
}

// QuotaRules reads Quotas.
func (c *Config) QuotaRules() ([]quota.Rule, error) {
	var rules []quota.Rule
	var errs []error
	names := map[string]bool{}
	for i, q := range c.Quotas {
		rule := quota.Rule{Name: q.Name, Per: quota.Per(q.Per), Tools: pattern.NewList(q.Tools)}
		if rule.Name == "" {
			rule.Name = strings.Join(append([]string{cmp.Or(q.Per, "calls")}, q.Tools...), " ")
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

// ReadQuotas reads the quotas of a file of settings again, which has some: a file without is an error, since one that is being
// written, or whose quotas were lost, must not lift all limits.
func ReadQuotas(file string) ([]quota.Rule, error) {
	c := Default()
	text, err := readFile(file, &c)
	if err != nil {
		return nil, err
	}
	if len(c.Quotas) == 0 {
		return nil, fmt.Errorf("config %s: there are no quotas any more: put them back, or start the edge again to have none", file)
	}
	rules, err := c.QuotaRules()
	if err != nil {
		return nil, text.place(err, nil)
	}
	return rules, nil
}
