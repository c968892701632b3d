package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxShown bounds the shown part of a changed text. aroundChange bounds the equal text that is
// shown before and after the difference. Both are in characters.
const (
	maxShown     = 2000
	aroundChange = 60
)

// quoted formats two values for a reviewer, each in one line. It shows the part that differs and a
// little of the text around it, and escapes control and invisible characters as Go does. It gives
// the number of characters that are cut, so that a text cannot hide its end. nil becomes empty.
func quoted(before, after any) (was, is string) {
	a, b := []rune(plain(before)), []rune(plain(after))
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from, rest := max(0, head-aroundChange), max(0, tail-aroundChange)
	show := func(value any, text []rune) string {
		if value == nil {
			return ""
		}
		return clipped(text, from, len(text)-rest)
	}
	return show(before, a), show(after, b)
}

// plain returns a string unchanged, and another value as JSON.
func plain(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.RawMessage:
		var b bytes.Buffer
		if json.Compact(&b, v) == nil {
			return b.String()
		}
		return string(v)
	}
	raw, _ := json.Marshal(value)
	return string(raw)
}

// clipped quotes text[from:to], at most maxShown characters of it, and marks what it omits.
func clipped(text []rune, from, to int) string {
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if cut := to - from - maxShown; cut > 0 {
		after = fmt.Sprintf("… (%d more characters)", cut+len(text)-to)
		to = from + maxShown
	} else if to < len(text) {
		after = "…"
	}
	return before + quote(string(text[from:to])) + after
}

// quote quotes a text. It does not escape quotation marks, which are frequent in JSON.
func quote(text string) string {
	out := []byte{'"'}
	for _, r := range text {
		switch {
		case r == '\\':
			out = append(out, `\\`...)
		case strconv.IsPrint(r):
			out = utf8.AppendRune(out, r)
		default:
			escaped := strconv.QuoteRune(r)
			out = append(out, escaped[1:len(escaped)-1]...)
		}
	}
	return string(append(out, '"'))
}
