// Package pattern matches the names and URIs in settings: those of the policy, quotas, curation and the selection of gRPC methods.
package pattern

import (
	"regexp"
	"slices"
	"strings"
)

// Pattern is a text in which "*" matches any text without a slash and "**" any text. All other characters match themselves. The zero value
// matches the empty text. It is immutable, and matches in linear time.
type Pattern struct {
	text string
	// exp is nil if the text has no star.
	exp *regexp.Regexp
}

// New returns the pattern with a text. Every text is a valid pattern.
func New(text string) Pattern {
	if !strings.Contains(text, "*") {
		return Pattern{text: text}
	}
	return Pattern{text, regexp.MustCompile(expression(text))}
}

// Match reports whether the pattern matches the whole name.
func (p Pattern) Match(name string) bool {
	if p.exp == nil {
		return p.text == name
	}
	return p.exp.MatchString(name)
}

// String returns the text of the pattern.
func (p Pattern) String() string { return p.text }

// Literal reports whether the pattern matches only its own text.
func (p Pattern) Literal() bool { return p.exp == nil }

// List is patterns, of which any may match. The empty list matches nothing.
type List []Pattern

// NewList returns the patterns with the given texts. It returns nil for none.
func NewList(texts []string) (l List) {
	for _, text := range texts {
		l = append(l, New(text))
	}
	return l
}

// Match reports whether any of the patterns matches the whole name.
func (l List) Match(name string) bool {
	return slices.ContainsFunc(l, func(p Pattern) bool { return p.Match(name) })
}

// Equal reports whether two lists have the same texts in the same order.
func (l List) Equal(o List) bool {
	return slices.EqualFunc(l, o, func(a, b Pattern) bool { return a.text == b.text })
}

// expression returns a pattern as a regular expression.
func expression(text string) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for rest := text; rest != ""; {
		literal, after, star := strings.Cut(rest, "*")
		b.WriteString(regexp.QuoteMeta(literal))
		if !star {
			break
		}
		next, all := strings.CutPrefix(after, "*")
		if rest = next; all {
			b.WriteString(`.*`)
		} else {
			b.WriteString(`[^/]*`)
		}
	}
	b.WriteString(`\z`)
	return b.String()
}
