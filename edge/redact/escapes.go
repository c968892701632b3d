package redact

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// layer is a text whose escapes were decoded. ends has the end of each decoded escape: the index in
// text, and the index in the text before decoding.
type layer struct {
	text string
	ends [][2]int32
}

// before returns the index in the original text for an index in the decoded one.
func (l *layer) before(i int) int {
	n, found := slices.BinarySearchFunc(l.ends, i, func(end [2]int32, i int) int { return int(end[0]) - i })
	if found {
		n++
	}
	if n == 0 {
		return i
	}
	return int(l.ends[n-1][1]) + i - int(l.ends[n-1][0])
}

// unescape decodes JSON's escapes in a text that is a fragment of JSON, such as a part of a log
// line. It returns false if the text has none.
func unescape(text string) (out layer, ok bool) {
	if strings.IndexByte(text, '\\') < 0 || len(text) > 1<<30 {
		return out, false
	}
	decoded := make([]byte, 0, len(text))
	for i := 0; ; {
		n := strings.IndexByte(text[i:], '\\')
		if n < 0 {
			decoded = append(decoded, text[i:]...)
			break
		}
		decoded = append(decoded, text[i:i+n]...)
		i += n
		r, length := escaped(text[i:])
		if length == 0 {
			decoded = append(decoded, '\\')
			i++
			continue
		}
		decoded = utf8.AppendRune(decoded, r)
		i += length
		out.ends = append(out.ends, [2]int32{int32(len(decoded)), int32(i)}) // #nosec G115 -- bounded above
	}
	out.text = string(decoded)
	return out, out.ends != nil
}

// shortEscapes maps the second character of an escape of two characters to the escaped character.
var shortEscapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped returns the character of the escape, or of the surrogate pair of escapes, at the
// beginning of a text, and its length. The length is 0 if there is none.
func escaped(text string) (rune, int) {
	if len(text) < 2 {
		return 0, 0
	}
	if r, ok := shortEscapes[text[1]]; ok {
		return r, 2
	}
	one := func(text string) (rune, bool) {
		if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(text[2:6], 16, 16)
		return rune(n), err == nil
	}
	r, ok := one(text)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := one(text[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return r, 6
}
