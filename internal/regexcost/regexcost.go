// Package regexcost bounds what a regular expression costs, before it is compiled.
package regexcost

import "regexp/syntax"

// Instructions returns an upper bound of the instructions of an expression, which matching takes at most as many steps for each byte. If it
// exceeds most, it is any larger number.
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
