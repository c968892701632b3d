package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

const (
	// stepsPerUnit are the steps of an instruction of a regular expression, for a byte each, that cost 1.
	stepsPerUnit = 40
	// bytesPerUnit are the bytes of texts that cost 1 to read or copy, and elementsPerUnit those of
	// lists that cost 1 to concatenate.
	bytesPerUnit, elementsPerUnit = 100, 10
	// zoneCost is the cost of a call that reads a time zone from a file.
	zoneCost = 1000
)

// matchCost is the cost of matching a text of size bytes by a regular expression of n instructions.
func matchCost(n, size uint64) uint64 { return 1 + n*(size+1)/stepsPerUnit }

// inZone reports whether a call of a function with n arguments reads a time zone.
func inZone(function string, n int) bool { return n == 2 && strings.HasPrefix(function, "get") }

// actualCost measures the cost of calls in an owner's expression by the sizes of their arguments. It
// maps the expression's regular expressions to their numbers of instructions. It implements
// interpreter.ActualCostEstimator.
type actualCost map[string]uint64

// CallCost implements interpreter.ActualCostEstimator. It ignores the overload, which is unknown
// for arguments of type dyn.
func (a actualCost) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	cost := a.cost(function, args)
	return &cost
}

func (a actualCost) cost(function string, args []ref.Val) uint64 {
	switch {
	case function == overloads.Matches && len(args) == 2:
		pattern, _ := args[1].(types.String)
		return matchCost(a[string(pattern)], textSize(args[0]))
	case inZone(function, len(args)):
		return zoneCost
	case (function == operators.Equals || function == operators.NotEquals) && len(args) == 2:
		return min(weight(args[0], MaxDecisionCost+1), weight(args[1], MaxDecisionCost+1))
	case function == operators.In && len(args) == 2:
		if _, isMap := args[1].(traits.Mapper); isMap {
			return 1 + textSize(args[0])/bytesPerUnit
		}
		return weight(args[1], MaxDecisionCost+1)
	case (function == overloads.StartsWith || function == overloads.EndsWith) && len(args) == 2:
		return 1 + textSize(args[1])/bytesPerUnit
	case function == operators.Index:
		return 1
	}
	cost := uint64(1)
	for _, arg := range args {
		cost += textSize(arg) / bytesPerUnit
		if list, ok := arg.(traits.Lister); ok && function == operators.Add {
			cost += sizeOf(list) / elementsPerUnit
		}
	}
	return cost
}

// textSize returns the bytes of a text or of bytes, and 0 for other values.
func textSize(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v))
	case types.Bytes:
		return uint64(len(v))
	}
	return 0
}

func sizeOf(v traits.Sizer) uint64 {
	n, _ := v.Size().(types.Int)
	return uint64(max(n, 0)) //nolint:gosec // It is not negative.
}

// weight returns the cost of reading a value with all elements within it, or at least most if that is
// greater.
func weight(v ref.Val, most uint64) uint64 {
	total := 1 + textSize(v)/bytesPerUnit
	switch v := v.(type) {
	case traits.Mapper:
		if n := sizeOf(v); n >= most {
			return n
		}
		for it := v.Iterator(); total < most && it.HasNext() == types.True; {
			key := it.Next()
			total += 1 + textSize(key)/bytesPerUnit
			if value, found := v.Find(key); found && total < most {
				total += weight(value, most-total)
			}
		}
	case traits.Lister:
		n, _ := v.Size().(types.Int)
		for i := types.Int(0); i < n && total < most; i++ {
			total += weight(v.Get(i), most-total)
		}
	}
	return total
}

// charged is exactComparisons, but a comparison or a match whose own cost exceeds MaxDecisionCost returns an
// error, because CEL counts costs only after a call.
func charged(checked *ast.AST, costs actualCost) interpreter.InterpretableDecoratorV2 {
	exact := exactComparisons(checked)
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || len(call.Args()) != 2 {
			return exact(i)
		}
		args := call.Args()
		name := call.Function()
		fn := comparisons[name]
		switch name {
		case overloads.Matches:
			var err error
			if fn, err = matchOf(args[1]); err != nil {
				return nil, err
			}
		case operators.Equals, operators.NotEquals, operators.In:
		default:
			return exact(i)
		}
		return &exactCall{call, []interpreter.InterpretableV2{args[0], opaque{args[1]}}, func(args [2]ref.Val) ref.Val {
			if cost := costs.cost(name, args[:]); cost > MaxDecisionCost {
				return types.WrapErr(fmt.Errorf("%w: a text, list or map in it is too large", errCost))
			}
			return fn(args)
		}}, nil
	}
}

// matchOf returns the function matches for a constant regular expression.
func matchOf(pattern interpreter.InterpretableV2) (func(args [2]ref.Val) ref.Val, error) {
	constant, ok := pattern.(interpreter.InterpretableConst)
	if !ok {
		return nil, errors.New("matches: the regular expression is not constant")
	}
	text, _ := constant.Value().(types.String)
	compiled, err := regexp.Compile(string(text))
	if err != nil {
		return nil, err
	}
	return func(args [2]ref.Val) ref.Val {
		in, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		return types.Bool(compiled.MatchString(string(in)))
	}, nil
}
