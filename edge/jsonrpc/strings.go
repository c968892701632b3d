package jsonrpc

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// indexSpecial returns the index, from i on, of the first byte that is special in a JSON string: a quote,
// a backslash, a control character or a byte beyond ASCII. It returns the length if there is none.
// It checks eight bytes at a time, because text and base64 make up most of a large message.
func indexSpecial[T string | []byte](b T, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		c := b[i : i+8]
		w := uint64(c[0]) | uint64(c[1])<<8 | uint64(c[2])<<16 | uint64(c[3])<<24 |
			uint64(c[4])<<32 | uint64(c[5])<<40 | uint64(c[6])<<48 | uint64(c[7])<<56
		quote, slash := w^('"'*ones), w^('\\'*ones)
		// A byte's top bit is set where x-n borrowed, which for bytes below 0x80 means x < n.
		if (w|(w-0x20*ones)|(quote-ones)|(slash-ones))&tops != 0 {
			break
		}
	}
	for i < len(b) && b[i] >= 0x20 && b[i] < utf8.RuneSelf && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD. Control
// characters and the line separators U+2028 and U+2029 are escaped, so that the output is one line
// for every reader. Only necessary characters are escaped.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		n := indexSpecial(s, i)
		dst = append(dst, s[i:n]...)
		if i = n; i == len(s) {
			break
		}
		c := s[i]
		if c < utf8.RuneSelf {
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, '\\', 'u', '2', '0', '2', hex[r&15])
		default:
			dst = append(dst, s[i:i+size]...)
		}
		i += size
	}
	return append(dst, '"')
}

// Unquote decodes a JSON string, which may be surrounded by space. It returns false for anything
// else. Half of a surrogate pair becomes U+FFFD.
func Unquote(raw json.RawMessage) (string, bool) {
	s := scanner{data: raw}
	s.space()
	if !s.at('"') {
		return "", false
	}
	from := s.pos + 1
	escaped, ok := s.str()
	to := s.pos - 1
	if !ok || !s.end() {
		return "", false
	}
	if !escaped {
		return string(raw[from:to]), true
	}
	return string(unescape(make([]byte, 0, to-from), raw[from:to])), true
}

// unescape appends the text of a valid JSON string, given without its quotes.
func unescape(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		b = b[i:]
		n := 2
		switch c := b[1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			var r rune
			r, n = escapedRune(b)
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
		b = b[n:]
	}
}

// escapedRune decodes the \uXXXX, or pair of them, at the start of b, and returns its length.
func escapedRune(b []byte) (rune, int) {
	r, _ := hex4(b[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		low, _ := hex4(b[8:])
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// ReplaceLoneSurrogates replaces each escape of half a surrogate pair in valid JSON by \ufffd, in place:
// the length stays the same. Strict readers, such as protobuf's, reject the whole text otherwise.
func ReplaceLoneSurrogates(raw []byte) {
	for i := indexLoneSurrogate(raw, 0); i >= 0; i = indexLoneSurrogate(raw, i+6) {
		copy(raw[i:], `\ufffd`)
	}
}

// HasLoneSurrogate reports whether ReplaceLoneSurrogates would change raw.
func HasLoneSurrogate(raw []byte) bool { return indexLoneSurrogate(raw, 0) >= 0 }

// indexLoneSurrogate returns the index, from i on, of the first escape of half a surrogate pair in valid
// JSON, or -1.
func indexLoneSurrogate(raw []byte, i int) int {
	for {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 || i+n+1 >= len(raw) {
			return -1
		}
		i += n
		if raw[i+1] != 'u' || len(raw) < i+6 {
			i += 2
			continue
		}
		r, size := escapedRune(raw[i:])
		if half, _ := hex4(raw[i+2:]); r == utf8.RuneError && utf16.IsSurrogate(half) {
			return i
		}
		i += size
	}
}
