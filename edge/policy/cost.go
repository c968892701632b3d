package policy

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/types"
)

// Bounds of the conditions of a Restriction, in CEL's units of about a function call each. Its owner
// is not trusted with the time of other owners' requests.
const (
	// MaxRuleCost bounds the estimated cost of one condition.
	MaxRuleCost = 20_000
	// MaxOwnerCost bounds the estimated costs of all conditions of an owner together.
	MaxOwnerCost = 100_000
	// MaxDecisionCost bounds what the conditions of an owner cost for one decision. Beyond it the
	// decision is an error.
	MaxDecisionCost = 20_000
)

// The sizes that estimates assume of values that requests have: the lengths of texts, and of lists
// and maps.
const (
	assumedText = 256
	assumedList = 64
)

// EstimatedCost returns the estimated cost of a condition for texts of 256 characters, and lists and maps of 64
// elements. The error is that of an invalid condition.
func EstimatedCost(text string) (uint64, error) {
	env, err := ruleEnv()
	if err != nil {
		return 0, err
	}
	checked, _, err := check(env, text, MaxDecisionCost)
	if err != nil {
		return 0, err
	}
	return estimate(env, checked)
}

func estimate(env *cel.Env, checked *cel.Ast) (uint64, error) {
	cost, err := env.EstimateCost(checked, assumed{})
	return cost.Max, err
}

// assumed estimates the sizes of values. It implements checker.CostEstimator.
type assumed struct{}

// EstimateSize implements checker.CostEstimator.
func (assumed) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	switch element.Type().Kind() {
	case types.ListKind, types.MapKind:
		return &checker.SizeEstimate{Max: assumedList}
	}
	return &checker.SizeEstimate{Max: assumedText}
}

// EstimateCallCost implements checker.CostEstimator.
func (assumed) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// tooCostly is the error of a condition with an estimated cost above MaxRuleCost.
func tooCostly(cost uint64) error {
	return fmt.Errorf("its estimated cost is %d, and at most %d is allowed: iterate over fewer lists within each other, or match fewer and shorter expressions", cost, MaxRuleCost)
}

// compileOwned compiles a condition of a Restriction. It fails for one that is too costly.
func compileOwned(env *cel.Env, text string, u *uses) (condition, error) {
	c, err := compileWithin(env, text, u, MaxDecisionCost)
	if err != nil {
		return c, err
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return c, issues.Err()
	}
	if c.estimate, err = estimate(env, checked); err != nil {
		return c, err
	}
	if c.estimate = max(c.estimate, 1); c.estimate > MaxRuleCost {
		return c, tooCostly(c.estimate)
	}
	return c, nil
}

// errCost says that the conditions of an owner have cost too much.
var errCost = errors.New("the conditions of its owner cost too much for this request")

// failed returns the error of a rule of a Restriction that has failed with err, or after which spent exceeds
// MaxDecisionCost.
func (r *rule) failed(spent uint64, err error) error {
	if spent > MaxDecisionCost {
		err = fmt.Errorf("%w: %d, and at most %d is allowed: make this one or those before it simpler", errCost, spent, MaxDecisionCost)
	}
	if r.place == "" {
		return err
	}
	return fmt.Errorf("%s: %w", r.place, err)
}

// Cost returns the estimated cost of all valid conditions, and the name and the place of the rule with the
// greatest one.
func (r *Restriction) Cost() (total uint64, costliest, place string) {
	var greatest uint64
	for i, one := range r.Rules {
		cost, err := EstimatedCost(one.When)
		if err != nil {
			continue
		}
		total += cost
		if cost > greatest {
			greatest, costliest, place = cost, one.Name, r.place(i)
		}
	}
	return total, costliest, place
}
