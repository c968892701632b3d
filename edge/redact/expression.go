package redact

import (
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

const (
	// maxShort is the maximum length of matches, in characters, for which the cost of an expression
	// is not metered.
	maxShort = 64
	// unmeteredMatches is the number of matches that are searched before the cost is metered.
	unmeteredMatches = 4
	// readerCost is the factor by which a metered search is slower.
	readerCost = 2
)

// expression returns a function that finds the matches of a regular expression. A search for one
// match is linear in the length of the text, but it may read to the end of the text for each match.
// Therefore the search for long matches is metered: its cost is subtracted from left. longest is
// the length of the longest match.
func expression(re *regexp.Regexp, longest int, weight int64) func(text string, left *int64) []match {
	if longest <= maxShort {
		return func(text string, _ *int64) []match { return notEmpty(re.FindAllStringIndex(text, -1)) }
	}
	// The search begins one character early, so that ^ and \b see the character before it.
	resumed := regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + re.String() + `)`)
	return func(text string, left *int64) []match {
		first := re.FindAllStringIndex(text, unmeteredMatches)
		out := notEmpty(first)
		if len(first) < unmeteredMatches {
			return out
		}
		for at := max(first[unmeteredMatches-1][1], 1); at < len(text); {
			_, n := utf8.DecodeLastRuneInString(text[:at])
			in := &meteredReader{text: text[at-n:], left: left, weight: weight}
			found := resumed.FindReaderSubmatchIndex(in)
			if found == nil || *left < 0 {
				break
			}
			m := match{at - n + found[2], at - n + found[3]}
			if at = m.to; m.from < m.to {
				out = append(out, m)
				continue
			}
			_, n = utf8.DecodeRuneInString(text[at:])
			at += max(n, 1)
		}
		return out
	}
}

func notEmpty(found [][]int) (out []match) {
	for _, at := range found {
		if at[0] < at[1] {
			out = append(out, match{at[0], at[1]})
		}
	}
	return out
}

// meteredReader reads a text and subtracts the cost from left. It returns io.EOF when left is negative.
type meteredReader struct {
	text   string
	left   *int64
	weight int64
}

// ReadRune implements io.RuneReader.
func (c *meteredReader) ReadRune() (rune, int, error) {
	if c.text == "" || *c.left < 0 {
		return 0, 0, io.EOF
	}
	r, n := utf8.DecodeRuneInString(c.text)
	c.text = c.text[n:]
	*c.left -= int64(n) * c.weight * readerCost
	return r, n, nil
}

// longest returns the length of an expression's longest match, in characters. The result is larger
// than maxShort if the length is.
func longest(re *syntax.Regexp) (n int) {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpStar, syntax.OpPlus:
		return maxShort + 1
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			n = max(n, longest(sub))
		}
		return n
	}
	for _, sub := range re.Sub {
		n = min(n+longest(sub), maxShort+1)
	}
	if re.Op == syntax.OpRepeat && n > 0 {
		if re.Max < 0 || re.Max > maxShort {
			return maxShort + 1
		}
		n *= re.Max
	}
	return n
}
