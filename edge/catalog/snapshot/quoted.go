package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxShown bounds what is shown of a changed text, and aroundChange what is shown of it before and after the part that differs, in characters.
const (
	maxShown     = 2000
	aroundChange = 60
)

// quoted returns two values for a reviewer, each in one line: without control characters and characters that are not visible, which are
// written as in Go, and around the part that differs. nil is empty. What a bound cuts is counted, so that a text cannot hide its end.
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

// plain returns a text as it is, and another value as JSON.
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

// clipped quotes a part of a text.
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

// quote quotes a text without escaping its own quotes, which JSON is full of.
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
