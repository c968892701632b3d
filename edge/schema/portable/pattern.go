package portable

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// Pattern rewrites an RE2 expression so that ECMA-262, the dialect of JSON Schema, and RE2 read it
// alike. It returns false for an expression that one of them cannot express (anchors of lines),
// that RE2 cannot parse, or that takes more than 64 KiB.
func Pattern(expr string) (string, bool) { return rewrite(expr, true) }

// maxPattern bounds a shown pattern, in bytes: classes of Unicode letters become long lists.
const maxPattern = 1024

// portablePattern rewrites an expression so that JavaScript, Python and RE2 read it alike. It returns an
// empty text if that is impossible or too long. Word boundaries differ between them. Python's $
// also matches before a newline at the very end.
func (c *converter) portablePattern(expr string) string {
	if len(expr) > 2*maxPattern {
		return ""
	}
	alike, known := c.patterns[expr]
	if !known {
		out, ok := rewrite(expr, false)
		if c.charge((len(expr) + len(out)) / 16); ok && len(out) <= maxPattern {
			alike = out
		}
		c.patterns[expr] = alike
	}
	return alike
}

// rewrite returns false for what some dialect cannot express. words permits word boundaries.
func rewrite(expr string, words bool) (string, bool) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return "", false
	}
	if common(expr) {
		return expr, true
	}
	if !words && hasBoundary(re) {
		return "", false
	}
	var b strings.Builder
	if !write(&b, re) {
		return "", false
	}
	return b.String(), true
}

func hasBoundary(re *syntax.Regexp) bool {
	return re.Op == syntax.OpWordBoundary || re.Op == syntax.OpNoWordBoundary || slices.ContainsFunc(re.Sub, hasBoundary)
}

// repeat matches a repetition count that all dialects support.
var repeat = regexp.MustCompile(`^\{[0-9]+(?:,[0-9]*)?\}`)

// common reports whether all dialects plainly read an expression alike, so that it needs no
// rewriting.
func common(expr string) bool {
	class := false
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c >= 0x7f || c < 0x20:
			return false
		case c == '\\':
			i++
			if i == len(expr) || !strings.ContainsRune(`.+*?()[]{}|^$\`, rune(expr[i])) {
				return false
			}
		case class:
			if c == '[' || c == '&' || c == '~' { // set operations in some dialects
				return false
			}
			class = c != ']'
		case c == '[':
			rest := strings.TrimPrefix(expr[i+1:], "^")
			if strings.HasPrefix(rest, "]") {
				return false
			}
			class = true
		case c == '{':
			n := len(repeat.FindString(expr[i:]))
			if n == 0 {
				return false
			}
			i += n - 1
		case c == '.' || c == ']' || c == '}':
			return false
		case c == '(':
			if strings.HasPrefix(expr[i+1:], "?") && !strings.HasPrefix(expr[i+1:], "?:") {
				return false
			}
		}
	}
	return true
}

// maxWritten bounds the text of a rewritten expression.
const maxWritten = 64 << 10

func write(b *strings.Builder, re *syntax.Regexp) bool {
	if b.Len() > maxWritten {
		return false
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		b.WriteString("(?:)")
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			writeLiteral(b, r, re.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return false
		}
		writeClass(b, re.Rune)
	case syntax.OpAnyCharNotNL:
		b.WriteString(`[^\n]`)
	case syntax.OpAnyChar:
		b.WriteString(`[\s\S]`)
	case syntax.OpBeginText:
		b.WriteByte('^')
	case syntax.OpEndText:
		b.WriteByte('$')
	case syntax.OpWordBoundary:
		b.WriteString(`\b`)
	case syntax.OpNoWordBoundary:
		b.WriteString(`\B`)
	case syntax.OpCapture:
		return writeGroup(b, re.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return writeRepeat(b, re)
	case syntax.OpConcat, syntax.OpAlternate:
		for i, sub := range re.Sub {
			if i > 0 && re.Op == syntax.OpAlternate {
				b.WriteByte('|')
			}
			ok := true
			if re.Op == syntax.OpConcat && sub.Op == syntax.OpAlternate {
				ok = writeGroup(b, sub)
			} else {
				ok = write(b, sub)
			}
			if !ok {
				return false
			}
		}
	default:
		return false
	}
	return true
}

func writeGroup(b *strings.Builder, re *syntax.Regexp) bool {
	b.WriteString("(?:")
	ok := write(b, re)
	b.WriteByte(')')
	return ok
}

// writeRepeat omits the marks of non-greedy repetition, which do not change what matches.
func writeRepeat(b *strings.Builder, re *syntax.Regexp) bool {
	if sub := re.Sub[0]; sub.Op == syntax.OpCharClass || sub.Op == syntax.OpCapture {
		if !write(b, sub) {
			return false
		}
	} else if !writeGroup(b, sub) {
		return false
	}
	switch {
	case re.Op == syntax.OpStar:
		b.WriteByte('*')
	case re.Op == syntax.OpPlus:
		b.WriteByte('+')
	case re.Op == syntax.OpQuest:
		b.WriteByte('?')
	case re.Max < 0:
		fmt.Fprintf(b, "{%d,}", re.Min)
	case re.Min == re.Max:
		fmt.Fprintf(b, "{%d}", re.Min)
	default:
		fmt.Fprintf(b, "{%d,%d}", re.Min, re.Max)
	}
	return true
}

func writeLiteral(b *strings.Builder, r rune, fold bool) {
	if !fold || unicode.SimpleFold(r) == r {
		writeRune(b, r, `.+*?()[]{}|^$\/`)
		return
	}
	b.WriteByte('[')
	writeRune(b, r, `[]^-\`)
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		writeRune(b, f, `[]^-\`)
	}
	b.WriteByte(']')
}

// writeClass writes pairs of first and last runes, or the complement if they reach the end.
func writeClass(b *strings.Builder, pairs []rune) {
	b.WriteByte('[')
	if n := len(pairs); n > 0 && pairs[0] == 0 && pairs[n-1] == unicode.MaxRune {
		if n == 2 {
			b.WriteString(`\s\S`)
		} else {
			b.WriteByte('^')
		}
		var gaps []rune
		for i := 1; i+1 < n; i += 2 {
			gaps = append(gaps, pairs[i]+1, pairs[i+1]-1)
		}
		pairs = gaps
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		writeRune(b, pairs[i], `[]^-\`)
		if pairs[i+1] > pairs[i] {
			if pairs[i+1] > pairs[i]+1 {
				b.WriteByte('-')
			}
			writeRune(b, pairs[i+1], `[]^-\`)
		}
	}
	b.WriteByte(']')
}

func writeRune(b *strings.Builder, r rune, special string) {
	switch {
	case r < 0x20 || r == 0x7f:
		fmt.Fprintf(b, `\x%02x`, r)
	case strings.ContainsRune(special, r):
		b.WriteByte('\\')
		b.WriteRune(r)
	default:
		b.WriteRune(r)
	}
}

// Literal returns an expression that matches a text literally.
func Literal(text string) string {
	var b strings.Builder
	for _, r := range text {
		writeLiteral(&b, r, false)
	}
	return b.String()
}
