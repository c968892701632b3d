package app

import (
	"maps"
	"sync"

	"github.com/mcpedge/mcpedge/edge/policy"
)

// counted is what a rule did.
type counted struct{ denied, failed int64 }

// maxGoneRules bounds the rules of policies that are not in force any more whose counts are kept.
const maxGoneRules = 1024

// policyCounts keeps counts of rules going up when the policy is exchanged that has counted. The zero value has none. Safe for
// concurrent use.
type policyCounts struct {
	mu    sync.Mutex
	gone  map[string]counted
	added *policy.Policy // the last one that was
}

// add takes in what a policy has counted that is not in force any more.
func (c *policyCounts) add(p *policy.Policy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone == nil {
		c.gone = map[string]counted{}
	}
	p.Denied(func(rule string, denied, failed int64) {
		if before, known := c.gone[rule]; known || len(c.gone) < maxGoneRules {
			c.gone[rule] = counted{before.denied + denied, before.failed + failed}
		}
	})
	c.added = p
}

// with are all counts, by rule, with those of the policy in force.
func (c *policyCounts) with(p *policy.Policy) map[string]counted {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := maps.Clone(c.gone)
	if out == nil {
		out = map[string]counted{}
	}
	if p == c.added {
		return out
	}
	p.Denied(func(rule string, denied, failed int64) {
		before := out[rule]
		out[rule] = counted{before.denied + denied, before.failed + failed}
	})
	return out
}
