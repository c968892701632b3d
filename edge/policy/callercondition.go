package policy

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// CallerCondition is a CEL expression that is true for some callers, such as
// "support" in principal.roles. It has the variables of rules that begin with principal. Safe for
// concurrent use.
type CallerCondition struct {
	program cel.Program
	uses    uses
}

// CompileCallerCondition compiles an expression. It returns an error for an invalid syntax or type.
func CompileCallerCondition(text string) (*CallerCondition, error) {
	return compileCaller(text, check)
}

// CompileOwnedCondition is CompileCallerCondition for an owner's condition. It fails if the
// estimated cost exceeds MaxRuleCost. MaxDecisionCost bounds the evaluation.
func CompileOwnedCondition(text string) (*CallerCondition, error) {
	return compileCaller(text, checkBounded)
}

func compileCaller(text string, check checking) (*CallerCondition, error) {
	env, err := newEnv(slices.Values(callerVariables))
	if err != nil {
		return nil, err
	}
	checked, options, err := check(env, text)
	if err != nil {
		return nil, err
	}
	if t := checked.OutputType(); t != cel.BoolType {
		return nil, fmt.Errorf("it is of type %s: write one that is true or false, a claim with == true", t)
	}
	c := &CallerCondition{uses: uses{variables: map[string]bool{}}}
	c.uses.add(checked.NativeRep())
	c.program, err = env.Program(checked, append(options, cel.EvalOptions(cel.OptOptimize))...)
	return c, err
}

// Claims returns the names of the claims in Principal.Claims that the condition inspects. all
// reports that it inspects claims whose names are not constant.
func (c *CallerCondition) Claims() (names []string, all bool) { return c.uses.claims, c.uses.allClaims }

// Holds evaluates the condition for a caller. An error means false.
func (c *CallerCondition) Holds(who *mcp.Principal) (bool, error) {
	out, _, err := c.program.Eval(&values{who: who, target: &Target{}})
	if err != nil {
		return false, err
	}
	return out == types.True, nil
}
