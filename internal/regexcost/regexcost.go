// Package regexcost computes a bound of the cost of a regular expression before it is compiled.
package regexcost

import "regexp/syntax"

// Instructions returns an upper bound of the number of instructions of the compiled expression.
// Matching takes at most that many steps for each byte. If the bound exceeds most, the result is
// any number larger than most.
func Instructions(re *syntax.Regexp, most int64) int64 {
	n := int64(len(re.Rune))
	if re.Op == syntax.OpCharClass {
		n = 0
	}
	n += 2
	for _, sub := range re.Sub {
		if n += 1 + Instructions(sub, most); n > most {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= int64(max(re.Max, re.Min+1, 1))
	}
	return n
}
