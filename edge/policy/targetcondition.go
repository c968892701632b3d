package policy

import (
	"sync"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// TargetCondition is a CEL expression that selects requests. It has the variables of rules. Safe
// for concurrent use.
type TargetCondition struct {
	when condition
	uses uses
}

// CompileTargetCondition compiles an expression. It returns an error for an invalid syntax or type.
func CompileTargetCondition(text string) (*TargetCondition, error) {
	env, err := ruleEnv()
	if err != nil {
		return nil, err
	}
	c := &TargetCondition{uses: uses{variables: map[string]bool{}}}
	c.when, err = compile(env, text, &c.uses, check)
	return c, err
}

// Claims returns the names of the claims in Principal.Claims that the condition inspects. all
// reports that it inspects claims whose names are not constant.
func (c *TargetCondition) Claims() (names []string, all bool) { return c.uses.claims, c.uses.allClaims }

// Holds reports whether the condition is true for a request for t. A URI satisfies it if one of its
// forms does, because a backend may read any of them. Holds calls args if the condition inspects
// the arguments. An error, of args or of the evaluation, means that the result is unknown.
func (c *TargetCondition) Holds(who *mcp.Principal, t *Target, args Arguments) (bool, error) {
	v := values{known: true}
	if c.uses.variables[varArguments] || t.Kind == Template && c.uses.variables[varVars] {
		known, err := args()
		if err != nil {
			return false, err
		}
		v.arguments = known
	}
	if t.Vars != nil {
		once := *t
		once.Vars = sync.OnceValue(t.Vars)
		t = &once
	}
	readings := 1
	if t.Vars != nil && t.Kind == Resource && c.uses.variables[varVars] {
		readings = min(max(len(t.Vars()), 1), MaxReadings)
	}
	holds := func(t *Target) (bool, error) {
		at := v
		at.who, at.target = who, t
		truth, err := c.when.holds(&at)
		return truth != isFalse, err
	}
	if is, err := holds(t); is || err != nil {
		return is, err
	}
	for other := range t.others(readings) {
		if is, err := holds(other); is || err != nil {
			return is, err
		}
	}
	return false, nil
}
