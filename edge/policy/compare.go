package policy

import (
	"fmt"
	"math"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// exactComparisons replaces CEL's comparisons of values that may be numbers by exact ones, because CEL
// converts integers to doubles: ==, !=, <, <=, >, >= and in, also within lists and maps. double()
// of a number without an exact double is an error.
func exactComparisons(checked *ast.AST) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok {
			return i, nil
		}
		args := call.Args()
		if call.Function() == overloads.TypeConvertDouble && len(args) == 1 {
			return &exactCall{call, args, func(args [2]ref.Val) ref.Val { return double(args[0]) }}, nil
		}
		compare := comparisons[call.Function()]
		if compare == nil || len(args) != 2 || !mayBeNumeric(checked.GetType(args[0].ID())) && !mayBeNumeric(checked.GetType(args[1].ID())) {
			return i, nil
		}
		return &exactCall{call, []interpreter.InterpretableV2{args[0], opaque{args[1]}}, compare}, nil
	}
}

// mayBeNumeric reports whether a value of type t may be or contain a number, as far as the compiler
// knows.
func mayBeNumeric(t *types.Type) bool {
	switch t.Kind() {
	case types.BoolKind, types.StringKind, types.BytesKind, types.NullTypeKind, types.TypeKind, types.DurationKind, types.TimestampKind:
		return false
	case types.ListKind, types.MapKind:
		for _, p := range t.Parameters() {
			if mayBeNumeric(p) {
				return true
			}
		}
		return false
	}
	return true
}

// opaque hides that an argument is a constant: CEL would convert a constant list to a set, whose
// numbers are doubles.
type opaque struct{ interpreter.InterpretableV2 }

// exactCall is a call of one or two arguments with a replaced function.
type exactCall struct {
	interpreter.InterpretableCall
	args []interpreter.InterpretableV2
	fn   func(args [2]ref.Val) ref.Val
}

// Args implements interpreter.InterpretableCall.
func (c *exactCall) Args() []interpreter.InterpretableV2 { return c.args }

// Eval implements interpreter.Interpretable.
func (c *exactCall) Eval(a interpreter.Activation) ref.Val { return c.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2. If an argument is an error or unknown, that is the
// result.
func (c *exactCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	var values [2]ref.Val
	var unknown *types.Unknown
	for i, arg := range c.args {
		values[i] = arg.Exec(frame)
		if types.IsError(values[i]) {
			return values[i]
		}
		unknown, _ = types.MaybeMergeUnknowns(values[i], unknown)
	}
	if unknown != nil {
		return unknown
	}
	return types.LabelErrNode(c.ID(), c.fn(values))
}

// comparisons are CEL's comparison functions by their operators.
var comparisons = map[string]func(args [2]ref.Val) ref.Val{
	operators.Equals: func(args [2]ref.Val) ref.Val { return equal(args[0], args[1]) },
	operators.NotEquals: func(args [2]ref.Val) ref.Val {
		out := equal(args[0], args[1])
		if is, ok := out.(types.Bool); ok {
			return !is
		}
		return out
	},
	operators.In:            func(args [2]ref.Val) ref.Val { return in(args[0], args[1]) },
	operators.Less:          ordered(func(order types.Int) bool { return order < 0 }),
	operators.LessEquals:    ordered(func(order types.Int) bool { return order <= 0 }),
	operators.Greater:       ordered(func(order types.Int) bool { return order > 0 }),
	operators.GreaterEquals: ordered(func(order types.Int) bool { return order >= 0 }),
}

func ordered(holds func(order types.Int) bool) func(args [2]ref.Val) ref.Val {
	return func(args [2]ref.Val) ref.Val {
		order, unordered, numbers := compareNumbers(args[0], args[1])
		switch {
		case unordered:
			return types.NewErr("NaN values cannot be ordered")
		case numbers:
			return types.Bool(holds(types.Int(order)))
		}
		comparer, ok := args[0].(traits.Comparer)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		out := comparer.Compare(args[1])
		if n, ok := out.(types.Int); ok {
			return types.Bool(holds(n))
		}
		return out
	}
}

// equal is CEL's == with an exact comparison of numbers. An element that is an error is the result,
// unless other elements differ.
func equal(a, b ref.Val) ref.Val {
	for _, v := range [...]ref.Val{a, b} {
		if types.IsUnknownOrError(v) {
			return v
		}
	}
	if order, unordered, ok := compareNumbers(a, b); ok {
		return types.Bool(order == 0 && !unordered)
	}
	switch x := a.(type) {
	case traits.Lister:
		if y, ok := b.(traits.Lister); ok {
			return equalLists(x, y)
		}
	case traits.Mapper:
		if y, ok := b.(traits.Mapper); ok {
			return equalMaps(x, y)
		}
	case *decimal: // b is not a number
		return types.False
	}
	return types.Equal(a, b)
}

func equalLists(a, b traits.Lister) ref.Val {
	size, _ := a.Size().(types.Int)
	if size != b.Size() {
		return types.False
	}
	out := ref.Val(types.True)
	for i := types.Int(0); i < size; i++ {
		switch v := equal(a.Get(i), b.Get(i)); {
		case v == types.False:
			return v
		case v != types.True:
			out = v
		}
	}
	return out
}

func equalMaps(a, b traits.Mapper) ref.Val {
	if a.Size() != b.Size() {
		return types.False
	}
	out := ref.Val(types.True)
	for it := a.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		x, _ := a.Find(key)
		y, found := b.Find(key)
		if !found {
			return types.False
		}
		switch v := equal(x, y); {
		case v == types.False:
			return v
		case v != types.True:
			out = v
		}
	}
	return out
}

// in reports whether a list has an equal element, or a map an equal key.
func in(v, all ref.Val) ref.Val {
	list, ok := all.(traits.Lister)
	if !ok {
		container, ok := all.(traits.Container)
		if !ok {
			return types.MaybeNoSuchOverloadErr(all)
		}
		return container.Contains(v)
	}
	size, _ := list.Size().(types.Int)
	out := ref.Val(types.False)
	for i := types.Int(0); i < size; i++ {
		switch one := equal(v, list.Get(i)); {
		case one == types.True:
			return one
		case one != types.False:
			out = one
		}
	}
	return out
}

// double is CEL's double(v), and an error if that changes the number.
func double(v ref.Val) ref.Val {
	switch v := v.(type) {
	case types.Double:
		return v
	case types.String:
		f, ok := v.ConvertToType(types.DoubleType).(types.Double)
		d, err := parseDecimal(string(v))
		if ok && err == nil && !math.IsInf(float64(f), 0) && d.compare(decimalOf(float64(f))) != 0 {
			return inexact(v)
		}
	case types.Int, types.Uint:
		f := v.ConvertToType(types.DoubleType)
		if order, _, _ := compareNumbers(v, f); order != 0 {
			return inexact(v)
		}
	}
	return v.ConvertToType(types.DoubleType)
}

func inexact(v ref.Val) ref.Val {
	return types.NewErr("double(%v) would have other digits: compare it as it is", v.Value())
}

// checkLiterals returns an error if an expression has a literal whose double has another value.
func checkLiterals(checked *ast.AST, text string) error {
	runes := []rune(text)
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked), ast.KindMatcher(ast.LiteralKind)) {
		f, ok := e.AsLiteral().Value().(float64)
		at, known := checked.SourceInfo().GetOffsetRange(e.ID())
		if !ok || !known || at.Start < 0 || int(at.Start) >= len(runes) {
			continue
		}
		written := literalText(runes[at.Start:])
		d, err := parseDecimal(written)
		if written == "" || err == nil && !math.IsInf(f, 0) && d.compare(decimalOf(f)) == 0 {
			continue
		}
		return fmt.Errorf("the number %s has more digits than a double: write an integer without a point or exponent, or fewer digits", written)
	}
	return nil
}

// literalText returns the number at the start of a text, with its sign, or an empty string.
func literalText(text []rune) string {
	end := 0
	for end < len(text) {
		c := text[end]
		sign := c == '-' && end == 0 || (c == '-' || c == '+') && (text[end-1] == 'e' || text[end-1] == 'E')
		if !sign && (c < '0' || c > '9') && c != '.' && (c != 'e' && c != 'E' || end == 0) {
			break
		}
		end++
	}
	return string(text[:end])
}
