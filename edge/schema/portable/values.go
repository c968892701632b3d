package portable

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// maxList bounds lists of values and of names. Longer lists are not enforced.
const maxList = 2000

// restrict keeps only the values that are in a list.
func (c *converter) restrict(f *facts, list []any) {
	c.charge(len(list) / 4)
	if len(list) > maxList {
		f.addText(fmt.Sprintf("One of %d values, which are not shown.", len(list)))
		return
	}
	if f.values == nil {
		f.values = append([]any{}, list...)
		return
	}
	keys := map[identity]bool{}
	numbers := false
	for _, x := range list {
		k := identify(x)
		keys[k] = true
		numbers = numbers || k.kind == typeNumber
	}
	f.values = slices.DeleteFunc(f.values, func(v any) bool {
		k := identify(v)
		return !keys[k] && !(k == anyNumber && numbers) && !(k.kind == typeNumber && keys[anyNumber])
	})
}

// identity is equal for values that JSON Schema considers equal. Objects, arrays, and numbers that
// are too large to compute with are not compared, because an additional value only makes the schema
// looser.
type identity struct {
	kind types
	text string
}

var (
	anyNumber    = identity{kind: typeNumber}
	anyComposite = identity{kind: typeObject}
)

func identify(v any) identity {
	switch x := v.(type) {
	case string:
		return identity{typeString, x}
	case bool:
		return identity{typeBoolean, fmt.Sprint(x)}
	case nil:
		return identity{kind: typeNull}
	case json.Number:
		if isShort(x) && x != "-0" {
			return identity{typeNumber, string(x)}
		}
		if n, ok := number(x); ok {
			return identity{typeNumber, n.RatString()}
		}
		return anyNumber
	}
	return anyComposite
}

// isShort reports whether a number is a few digits, so that its text identifies it.
func isShort(n json.Number) bool { return len(n) < 20 && !strings.ContainsAny(string(n), ".eE") }

// number parses a number of bounded size.
func number(v any) (*big.Rat, bool) {
	text, ok := v.(json.Number)
	if !ok || len(text) > 40 {
		return nil, false
	}
	if f, err := text.Float64(); err != nil || f > 1e30 || f < -1e30 || f != 0 && f < 1e-30 && f > -1e-30 {
		return nil, false
	}
	return new(big.Rat).SetString(string(text))
}

// count parses a count that interfaces accept.
func count(v any) (int64, bool) {
	n, ok := number(v)
	if !ok || !n.IsInt() || n.Sign() < 0 || !n.Num().IsInt64() || n.Num().Int64() > 1<<31 {
		return 0, false
	}
	return n.Num().Int64(), true
}

// typesOf parses a type keyword. Unknown names are ignored.
func typesOf(value any) types {
	if name, ok := value.(string); ok {
		if t, known := typeNames[name]; known {
			return t
		}
		return anyType
	}
	list, ok := value.([]any)
	if !ok {
		return anyType
	}
	var set types
	for _, x := range list {
		name, _ := x.(string)
		t, known := typeNames[name]
		if !known {
			return anyType
		}
		set |= t
	}
	return set
}

// typeOf returns the type of a value. A number that is too large to compute with may be of either
// kind.
func typeOf(v any) types {
	switch x := v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBoolean
	case string:
		return typeString
	case json.Number:
		if isShort(x) {
			return typeInteger
		}
		n, ok := number(x)
		switch {
		case !ok:
			return typeNumber
		case n.IsInt():
			return typeInteger
		}
		return typeFraction
	case []any:
		return typeArray
	}
	return typeObject
}
