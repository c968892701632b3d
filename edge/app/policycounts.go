package app

import (
	"maps"
	"sync"

	"github.com/mcpedge/mcpedge/edge/policy"
)

// counted counts the effects of a rule.
type counted struct{ denied, failed int64 }

// maxGoneRules bounds the rules of earlier policies whose counts are kept.
const maxGoneRules = 1024

// policyCounts keeps the counts of rules monotonic when the policy is replaced. The zero value has
// no counts. It is safe for concurrent use.
type policyCounts struct {
	mu    sync.Mutex
	gone  map[string]counted
	added *policy.Policy // the last one that was added
}

// add adds the counts of a policy that is not in force any more.
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

// with returns all counts by rule, including those of the policy in force.
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
