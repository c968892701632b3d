package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// interval is a range of integers that includes both ends.
type interval struct{ lo, hi *big.Int }

// integers is a set of integers: disjoint intervals in ascending order.
type integers []interval

var one = big.NewInt(1)

func less(n *big.Int) *big.Int { return new(big.Int).Sub(n, one) }
func more(n *big.Int) *big.Int { return new(big.Int).Add(n, one) }

// within returns the intersection with [lo, hi]; nil means unbounded.
func (s integers) within(lo, hi *big.Int) integers {
	var out integers
	for _, i := range s {
		a, b := i.lo, i.hi
		if lo != nil && lo.Cmp(a) > 0 {
			a = lo
		}
		if hi != nil && hi.Cmp(b) < 0 {
			b = hi
		}
		if a.Cmp(b) <= 0 {
			out = append(out, interval{a, b})
		}
	}
	return out
}

// without removes numbers.
func (s integers) without(numbers []*big.Int) integers {
	numbers = slices.Clone(numbers)
	slices.SortFunc(numbers, (*big.Int).Cmp)
	var out integers
	for _, i := range s {
		for len(numbers) > 0 && numbers[0].Cmp(i.lo) < 0 {
			numbers = numbers[1:]
		}
		for ; len(numbers) > 0 && numbers[0].Cmp(i.hi) <= 0; numbers = numbers[1:] {
			if n := numbers[0]; n.Cmp(i.lo) >= 0 {
				if n.Cmp(i.lo) > 0 {
					out = append(out, interval{i.lo, less(n)})
				}
				i.lo = more(n)
			}
		}
		if i.lo.Cmp(i.hi) <= 0 {
			out = append(out, i)
		}
	}
	return out
}

// only returns the intersection with the numbers.
func (s integers) only(numbers []*big.Int) integers {
	numbers = slices.Clone(numbers)
	slices.SortFunc(numbers, (*big.Int).Cmp)
	var out integers
	for i, n := range numbers {
		for len(s) > 0 && s[0].hi.Cmp(n) < 0 {
			s = s[1:]
		}
		if len(s) > 0 && s[0].lo.Cmp(n) <= 0 && (i == 0 || n.Cmp(numbers[i-1]) != 0) {
			out = append(out, interval{n, n})
		}
	}
	return out
}

// points returns the elements if there are at most atMost.
func (s integers) points(atMost int64) ([]*big.Int, bool) {
	var out []*big.Int
	for _, i := range s {
		if new(big.Int).Sub(i.hi, i.lo).Cmp(big.NewInt(atMost-int64(len(out)))) >= 0 {
			return nil, false
		}
		for n := i.lo; n.Cmp(i.hi) <= 0; n = more(n) {
			out = append(out, n)
		}
	}
	return out, true
}

// pattern returns a regular expression for the decimal texts of the numbers. A bound of the set
// that is also a bound of all (such as the largest int64) is not enforced.
func (s integers) pattern(all interval) string {
	var alternatives []string
	for _, i := range s {
		lo, hi := i.lo, i.hi
		if lo.Cmp(all.lo) == 0 && lo.Sign() < 0 {
			lo = nil
		}
		if hi.Cmp(all.hi) == 0 {
			hi = nil
		}
		alternatives = append(alternatives, decimals(lo, hi)...)
	}
	if len(alternatives) == 1 {
		return "^" + alternatives[0] + "$"
	}
	return "^(?:" + strings.Join(alternatives, "|") + ")$"
}

// decimals returns expressions for the decimal texts from lo to hi; nil means unbounded.
func decimals(lo, hi *big.Int) []string {
	switch {
	case lo == nil && hi == nil:
		return []string{"-?[0-9]+"}
	case lo == nil && hi.Sign() < 0:
		return negated(decimals(new(big.Int).Neg(hi), nil))
	case lo == nil:
		return append([]string{"-[1-9][0-9]*"}, decimals(new(big.Int), hi)...)
	case lo.Sign() < 0 && hi != nil && hi.Sign() < 0:
		return negated(decimals(new(big.Int).Neg(hi), new(big.Int).Neg(lo)))
	case lo.Sign() < 0:
		return append(negated(decimals(one, new(big.Int).Neg(lo))), decimals(new(big.Int), hi)...)
	case hi == nil && lo.Sign() == 0:
		return []string{"[0-9]+"}
	case hi == nil:
		text := lo.String()
		top := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(text))), nil)
		return append(naturalDecimals(lo, less(top)), fmt.Sprintf("[1-9][0-9]{%d,}", len(text)))
	}
	return naturalDecimals(lo, hi)
}

func negated(alternatives []string) []string {
	out := make([]string, len(alternatives))
	for i, a := range alternatives {
		out[i] = "-" + a
	}
	return out
}

// naturalDecimals is decimals for bounds of at least 0. It handles each number of digits separately.
func naturalDecimals(lo, hi *big.Int) []string {
	var out []string
	for length := len(lo.String()); length <= len(hi.String()); length++ {
		low, high := new(big.Int), new(big.Int)
		if length > 1 {
			low.Exp(big.NewInt(10), big.NewInt(int64(length-1)), nil)
		}
		high.Exp(big.NewInt(10), big.NewInt(int64(length)), nil)
		high.Sub(high, one)
		if lo.Cmp(low) > 0 {
			low = lo
		}
		if hi.Cmp(high) < 0 {
			high = hi
		}
		out = append(out, sameLengthDecimals(low.String(), high.String())...)
	}
	return out
}

// sameLengthDecimals is decimals for two texts of equal length.
func sameLengthDecimals(lo, hi string) []string {
	if lo == "" {
		return []string{""}
	}
	if lo[0] == hi[0] {
		return withPrefix(lo[:1], sameLengthDecimals(lo[1:], hi[1:]))
	}
	rest := len(lo) - 1
	lowest, highest := strings.Repeat("0", rest), strings.Repeat("9", rest)
	first, last := lo[0], hi[0]
	var below, above []string
	if lo[1:] != lowest {
		below = withPrefix(lo[:1], sameLengthDecimals(lo[1:], highest))
		first++
	}
	if hi[1:] != highest {
		above = withPrefix(hi[:1], sameLengthDecimals(lowest, hi[1:]))
		last--
	}
	out := below
	if first <= last {
		out = append(out, digits(first, last)+repeat(rest))
	}
	return append(out, above...)
}

func withPrefix(prefix string, alternatives []string) []string {
	for i, a := range alternatives {
		alternatives[i] = prefix + a
	}
	return alternatives
}

func digits(first, last byte) string {
	if first == last {
		return string(first)
	}
	return "[" + string(first) + "-" + string(last) + "]"
}

func repeat(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "[0-9]"
	}
	return fmt.Sprintf("[0-9]{%d}", n)
}
