package variance

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// types is a set of types of JSON Schema. Numbers are split into integers and fractions.
type types uint8

const (
	isNull types = 1 << iota
	isBool
	isString
	isObject
	isArray
	isInteger
	isFraction
	everyType = isNull | isBool | isString | isObject | isArray | isInteger | isFraction
)

var typeNames = map[string]types{
	"null": isNull, "boolean": isBool, "string": isString, "object": isObject, "array": isArray, "integer": isInteger, "number": isInteger | isFraction,
}

// namedTypes returns the types of a value of the keyword `type`. An unknown name stands for every type.
func namedTypes(keyword any) (out types) {
	if keyword == nil {
		return everyType
	}
	for _, one := range listOf(keyword) {
		name, _ := one.(string)
		t, known := typeNames[name]
		if !known {
			return everyType
		}
		out |= t
	}
	return out
}

// typesOf returns the types of the values that a normal schema may accept.
func typesOf(s map[string]any) types {
	out := namedTypes(s["type"])
	if values, ok := s["enum"].([]any); ok {
		var of types
		for _, v := range values {
			of |= typeOf(v)
		}
		out &= of
	}
	return out
}

func typeOf(value any) types {
	switch v := value.(type) {
	case nil:
		return isNull
	case bool:
		return isBool
	case string:
		return isString
	case map[string]any:
		return isObject
	case []any:
		return isArray
	default:
		if r := rational(v); r != nil && r.IsInt() {
			return isInteger
		} else if r != nil {
			return isFraction
		}
		return isInteger | isFraction
	}
}

// commonTypes returns the names of the types that both keywords accept.
func commonTypes(a, b any) []any {
	both := namedTypes(a) & namedTypes(b)
	out := []any{}
	for _, name := range []string{"null", "boolean", "string", "object", "array", "number", "integer"} {
		if t := typeNames[name]; t&both == t {
			out, both = append(out, name), both&^t
		}
	}
	return out
}

// maxExponent bounds the exponents of compared numbers.
const maxExponent = 400

// rational returns a number as a rational. It returns nil for other values, and for numbers with a
// larger exponent than maxExponent.
func rational(value any) *big.Rat {
	var text string
	switch v := value.(type) {
	case json.Number:
		text = v.String()
	case float64:
		text = strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return nil
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		if n, err := strconv.Atoi(text[at+1:]); err != nil || n > maxExponent || n < -maxExponent {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

// Same reports whether two JSON values are equal. Numbers are compared by value: 1 equals 1.0.
func Same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, value := range x {
			if other, has := y[key]; !has || !Same(value, other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, Same)
	case json.Number:
		if y, ok := b.(json.Number); ok && x == y {
			return true
		}
		p, q := rational(a), rational(b)
		return p != nil && q != nil && p.Cmp(q) == 0
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func contains(list []any, value any) bool {
	return slices.ContainsFunc(list, func(one any) bool { return Same(one, value) })
}

// allIn reports whether the list b contains every element of a.
func allIn(a, b []any) bool {
	return !slices.ContainsFunc(a, func(one any) bool { return !contains(b, one) })
}

func common(a, b []any) []any {
	out := []any{}
	for _, one := range a {
		if contains(b, one) {
			out = append(out, one)
		}
	}
	return out
}

func union(a, b []any) []any {
	out := slices.Clone(a)
	for _, one := range b {
		if !contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// listOf returns a list unchanged, and another value as a list of one element. It returns nil for
// nil.
func listOf(value any) []any {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{value}
}
