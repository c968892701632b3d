package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/policy"
)

// PolicyApprove is an approval that another person must give before a call runs.
type PolicyApprove struct {
	// Name of the approval in metrics, errors and explanations.
	Name string `yaml:"name"`
	// When is an expression in CEL, with the variables of rules but those of resources and prompts.
	When string `yaml:"when" also:"if,condition,expression"`
	// Message is shown to approvers; {arguments.NAME} is the value of an argument.
	Message string `yaml:"message" also:"question,text"`
	// Approvers is an expression in CEL with the variables of When, except that principal is the
	// approver. Empty permits everyone with the scope for approvals.
	Approvers string `yaml:"approvers"`
	// Expires is the time for which the call waits, at most 24 h. 0 means 1 h.
	Expires time.Duration `yaml:"expires" also:"timeout,ttl"`
	// Mode is enforce or audit: nothing waits, and that it would have is recorded. Empty means enforce.
	Mode string `yaml:"mode"`
}

// notApprovable returns the reason for which calls of backends cannot be approved, or an empty
// text. If any is true, one such backend is sufficient for a reason, and otherwise all must be. nil
// means all backends.
func (c *Config) notApprovable(backends []string, any bool) string {
	switch {
	case c.Auth == nil:
		return "there is no auth, so approver and requester could not be compared: add auth"
	case len(c.Auth.Issuers) == 0:
		return "auth has no issuers, and approvers are people with a token of one, which API keys are not: add auth.issuers"
	case c.Admin.Auth == nil:
		return "there is no admin.auth, by which approvers are authenticated: add it; they need its approve-scope"
	}
	total, exchanging := 0, Names{}
	for i := range c.Backends {
		if b := &c.Backends[i]; backends == nil || slices.Contains(backends, b.Name) {
			if total++; b.Identity == IdentityExchange {
				exchanging = append(exchanging, b.Name)
			}
		}
	}
	if len(exchanging) == 0 || !any && (len(exchanging) < total || c.Kubernetes != nil) {
		return ""
	}
	return fmt.Sprintf("the backend %q has identity: exchange, and no call of it can wait for an approval, since no token is stored: use identity: signed there",
		exchanging[0])
}

// Unapprovable returns a note for each backend with identity: exchange that has tools to which
// approvals may apply. Such calls are denied. targets are the listed objects of the backends.
func (c *Config) Unapprovable(targets []policy.Target) (notes []string) {
	p, err := c.CompilePolicy()
	if err != nil || p == nil {
		return nil
	}
	for i := range c.Backends {
		b := &c.Backends[i]
		var tools []string
		for j := range targets {
			if t := &targets[j]; b.Identity == IdentityExchange && t.Kind == policy.Tool && t.Backend == b.Name {
				if may, _ := p.Awaits(t); may {
					tools = append(tools, t.Name)
				}
			}
		}
		if len(tools) == 0 {
			continue
		}
		others := ""
		if len(tools) > 1 {
			others = fmt.Sprintf(" and %d others", len(tools)-1)
		}
		notes = append(notes, fmt.Sprintf("backends[%d] %s: it has identity: exchange, so that calls to which an approval applies are denied, since no token is stored: "+
			"approvals may apply to the tool %q%s: use identity: signed, or conditions that leave them out", i, b.Name, tools[0], others))
	}
	return notes
}
