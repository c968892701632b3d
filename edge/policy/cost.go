package policy

import (
	"errors"
	"fmt"
	"regexp/syntax"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

// Bounds of the expressions of an owner, in CEL's units of about a function call each. The owner is
// not trusted with the time and the memory of other owners' requests.
const (
	// MaxText bounds the text of an expression, in bytes.
	MaxText = 4 << 10
	// MaxPattern bounds the length of a regular expression, in bytes, and maxInstructions its
	// compiled size.
	MaxPattern, maxInstructions = 256, 1000
	// MaxRuleCost bounds the estimated cost of one expression.
	MaxRuleCost = 20_000
	// MaxOwnerCost bounds the estimated costs of all expressions of an owner together.
	MaxOwnerCost = 100_000
	// MaxDecisionCost bounds the cost of an owner's conditions in one decision. A decision beyond it
	// is an error.
	MaxDecisionCost = 20_000
)

// The sizes that estimates assume of values that requests have: the lengths of texts, and of lists
// and maps.
const (
	assumedText = 256
	assumedList = 64
)

// EstimatedCost returns the estimated cost of an owner's condition, or of a value of the catalog,
// for texts of 256 characters and lists and maps of 64 elements. It returns an error for an invalid
// expression.
func EstimatedCost(text string) (uint64, error) {
	env, err := ruleEnv()
	if err != nil {
		return 0, err
	}
	_, cost, err := checkOwned(env, text)
	return cost, err
}

// checkOwned parses and type-checks an owner's expression, and returns its estimated cost. It
// compiles no program and no large regular expression.
func checkOwned(env *cel.Env, text string) (_ *cel.Ast, cost uint64, _ error) {
	if len(text) > MaxText {
		return nil, 0, fmt.Errorf("it has %d bytes, and at most %d are allowed: write several conditions", len(text), MaxText)
	}
	checked, err := checkText(env, text)
	if err != nil {
		return nil, 0, err
	}
	if err := checkPatterns(checked.NativeRep()); err != nil {
		return nil, 0, err
	}
	estimated, err := env.EstimateCost(checked, assumedSizes{})
	return checked, max(estimated.Max, 1), err
}

// ownedOptions are the options of the program of an expression of an owner. They count and bound the
// cost of its evaluation, and make numbers exact. Its regular expressions are valid.
func ownedOptions(checked *cel.Ast) []cel.ProgramOption {
	costs := actualCost{}
	for _, pattern := range patterns(checked.NativeRep()) {
		costs[pattern], _ = instructions(pattern)
	}
	return []cel.ProgramOption{cel.CustomDecoratorV2(charged(checked.NativeRep(), costs)), cel.CostTracking(costs), cel.CostLimit(MaxDecisionCost)}
}

// checkBounded is checkOwned, but returns an error if the estimated cost exceeds MaxRuleCost.
func checkBounded(env *cel.Env, text string) (*cel.Ast, []cel.ProgramOption, error) {
	checked, cost, err := checkOwned(env, text)
	switch {
	case err != nil:
		return nil, nil, err
	case cost > MaxRuleCost:
		return nil, nil, fmt.Errorf("its estimated cost is %d, and at most %d is allowed: iterate over fewer lists within each other, or match fewer and shorter expressions", cost, MaxRuleCost)
	}
	return checked, ownedOptions(checked), nil
}

// checkPatterns returns an error for a regular expression that is not constant, or too large.
func checkPatterns(checked *ast.AST) error {
	for _, call := range matchesIn(checked) {
		args := call.Args()
		pattern, ok := literal(args[len(args)-1])
		if !ok {
			return errors.New("matches: write the regular expression as a constant text: its cost is not known otherwise")
		}
		if _, err := instructions(pattern); err != nil {
			return err
		}
	}
	return nil
}

// patterns returns the constant regular expressions of an expression.
func patterns(checked *ast.AST) (out []string) {
	for _, call := range matchesIn(checked) {
		args := call.Args()
		if text, ok := literal(args[len(args)-1]); ok {
			out = append(out, text)
		}
	}
	return out
}

// matchesIn returns the calls of matches in an expression. Each has arguments.
func matchesIn(checked *ast.AST) (out []ast.CallExpr) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked), ast.KindMatcher(ast.CallKind)) {
		if e.AsCall().FunctionName() == overloads.Matches {
			out = append(out, e.AsCall())
		}
	}
	return out
}

// instructions returns the number of instructions that a regular expression is compiled to. The error
// says that it is invalid or has too many.
func instructions(pattern string) (uint64, error) {
	if len(pattern) > MaxPattern {
		return 0, fmt.Errorf("matches: the regular expression has %d bytes, and at most %d are allowed: use several", len(pattern), MaxPattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, fmt.Errorf("matches: %w", err)
	}
	n := minInstructions(parsed)
	if n <= maxInstructions { // Others are not compiled, which takes time and memory.
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			return 0, fmt.Errorf("matches: %w", err)
		}
		n = len(program.Inst)
	}
	if n > maxInstructions {
		return 0, fmt.Errorf("matches: the regular expression %q has more than %d instructions: repeat less in it", pattern, maxInstructions)
	}
	return uint64(n), nil //nolint:gosec // It is not negative.
}

// minInstructions returns a lower bound of a regular expression's instructions, including its repetitions. It
// is not exact above maxInstructions.
func minInstructions(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n = min(n+minInstructions(sub), maxInstructions+1)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpRepeat:
		return min(n*max(re.Min, re.Max), maxInstructions+1)
	}
	return n
}

// assumedSizes estimates the sizes of values. It implements checker.CostEstimator.
type assumedSizes struct{}

// EstimateSize implements checker.CostEstimator.
func (assumedSizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	switch element.Type().Kind() {
	case types.ListKind, types.MapKind:
		return &checker.SizeEstimate{Max: assumedList}
	}
	return &checker.SizeEstimate{Max: assumedText}
}

// EstimateCallCost implements checker.CostEstimator. A match of a text that is shorter than
// assumedText is estimated like one of assumedText, because the regular expression itself uses
// memory.
func (assumedSizes) EstimateCallCost(function, _ string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	all := args
	if target != nil {
		all = append([]checker.AstNode{*target}, args...)
	}
	var cost uint64
	switch {
	case function == overloads.Matches && len(all) == 2:
		pattern, _ := literal(all[1].Expr())
		n, err := instructions(pattern)
		if err != nil {
			return nil
		}
		size := uint64(assumedText)
		if computed := all[0].ComputedSize(); computed != nil {
			size = max(size, computed.Max)
		}
		cost = matchCost(n, size)
	case inZone(function, len(all)):
		cost = zoneCost
	default:
		return nil
	}
	return &checker.CallEstimate{CostEstimate: checker.FixedCostEstimate(cost)}
}

// errCost says that the conditions of an owner have cost too much.
var errCost = errors.New("the conditions of its owner cost too much for this request")

// failed returns the error of a decision that ends at a rule of a Restriction, with the rule's
// place. It wraps errCost if spent, the cost of the decision, exceeds MaxDecisionCost, and err
// otherwise.
func (r *rule) failed(spent uint64, err error) error {
	if spent > MaxDecisionCost && !errors.Is(err, errCost) {
		err = fmt.Errorf("%w: %d, and at most %d is allowed: make this one or those before it simpler", errCost, spent, MaxDecisionCost)
	}
	if r.place == "" {
		return err
	}
	return fmt.Errorf("%s: %w", r.place, err)
}
