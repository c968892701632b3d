package uris

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes is the maximum size of a URI and of a template, in bytes.
const MaxBytes = 8 << 10

// Check returns an error unless the text is an absolute URI that can be listed and read. It allows
// characters that RFC 3986 requires to be escaped, such as spaces and non-ASCII letters, because
// clients and backends send them; they are equivalent to their escapes. It does not allow control
// characters, or a percent sign without two hexadecimal digits.
func Check(uri string) error {
	if len(uri) > MaxBytes {
		return fmt.Errorf("it has %d bytes: shorten it to at most %d", len(uri), MaxBytes)
	}
	if !Absolute(uri) {
		return errors.New("it is not absolute: it must begin with a scheme, such as file: (RFC 3986)")
	}
	return checkText(uri)
}

func checkText(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("it is not valid UTF-8")
	}
	if at := strings.IndexFunc(text, unicode.IsControl); at >= 0 {
		r, _ := utf8.DecodeRuneInString(text[at:])
		return fmt.Errorf("it has the control character %U: leave it out, or escape it", r)
	}
	for at := range len(text) {
		if text[at] == '%' && !escaped(text, at) {
			return fmt.Errorf("%.3q is not an escape: write %%25 for a percent sign (RFC 3986, section 2.1)", text[at:])
		}
	}
	return nil
}

// Absolute reports whether a text begins with a scheme (RFC 3986, section 3.1).
func Absolute(uri string) bool { return schemeEnd(uri) > 0 }

// schemeEnd returns the index of the colon after the scheme, or -1 if there is none.
func schemeEnd(text string) int {
	for at := range len(text) {
		c := text[at]
		switch {
		case letter(c):
		case at > 0 && (digit(c) || c == '+' || c == '-' || c == '.'):
		case at > 0 && c == ':':
			return at
		default:
			return -1
		}
	}
	return -1
}

// Normal returns the normal form of a URI: the scheme in lower case, and the host too for http,
// https and file; unreserved characters not escaped (RFC 3986, section 6.2.2); other escapes in
// upper case; and characters that a URI must not contain escaped. Escaped slashes, dot segments,
// ports and empty parts are not changed, and neither is a percent sign that begins no escape.
//
// A URI in normal form is returned unchanged, without an allocation. The normal form of a prefix
// that has a complete scheme and does not end inside an escape is a prefix of the normal forms of
// all texts with that prefix.
func Normal(uri string) string { return respell(uri, true) }

// normalUnescaped is Normal without escaping characters that a URI must not contain.
func normalUnescaped(text string) string { return respell(text, false) }

func respell(text string, escape bool) string {
	colon := schemeEnd(text)
	host, end := hostOf(text, colon)
	var out []byte
	kept := 0 // bytes of text that are in out or will be copied
	put := func(from, to int, with ...byte) {
		if out == nil {
			out = make([]byte, 0, len(text)+16)
		}
		out = append(append(out, text[kept:from]...), with...)
		kept = to
	}
	for at := 0; at < len(text); at++ {
		c := text[at]
		small := at < colon || at >= host && at < end
		switch {
		case c == '%' && escaped(text, at):
			value := unhex(text[at+1])<<4 | unhex(text[at+2])
			switch {
			case unreserved(value) && small:
				put(at, at+3, lower(value))
			case unreserved(value):
				put(at, at+3, value)
			case text[at+1] >= 'a' || text[at+2] >= 'a':
				put(at, at+3, '%', upperHex[value>>4], upperHex[value&15])
			}
			at += 2
		case small && c != lower(c):
			put(at, at+1, lower(c))
		case escape && !allowedInURI(c):
			put(at, at+1, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	if out == nil {
		return text
	}
	return string(append(out, text[kept:]...))
}

// hostOf returns the position of a host that is case-insensitive, or 0, 0.
func hostOf(text string, colon int) (from, to int) {
	if colon < 0 || !strings.HasPrefix(text[colon+1:], "//") {
		return 0, 0
	}
	switch strings.ToLower(text[:colon]) {
	case "http", "https", "file":
	default:
		return 0, 0
	}
	from = colon + len("://")
	to = len(text)
	if at := strings.IndexAny(text[from:], "/?#"); at >= 0 {
		to = from + at
	}
	return from + strings.LastIndexByte(text[from:to], '@') + 1, to
}

// Decode decodes the escapes of a text once. Invalid UTF-8 becomes U+FFFD, one per maximal subpart,
// as in the decoders of the capability libraries. A percent sign that begins no escape is not
// changed.
func Decode(text string) string {
	if strings.IndexByte(text, '%') < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for at := 0; at < len(text); at++ {
		if text[at] == '%' && escaped(text, at) {
			out = append(out, unhex(text[at+1])<<4|unhex(text[at+2]))
			at += 2
			continue
		}
		out = append(out, text[at])
	}
	if utf8.Valid(out) {
		return string(out)
	}
	return replaced(out)
}

// replaced returns text with U+FFFD in place of invalid UTF-8 (Unicode, section 3.9, "Substitution
// of Maximal Subparts").
func replaced(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			for size < len(text) && !utf8.FullRune(text[:size+1]) {
				size++
			}
		}
		b.WriteRune(r)
		text = text[size:]
	}
	return b.String()
}

// escaped reports whether an escape begins at a percent sign.
func escaped(text string, at int) bool {
	return at+2 < len(text) && hexDigit(text[at+1]) && hexDigit(text[at+2])
}

const upperHex = "0123456789ABCDEF"

func letter(c byte) bool   { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool    { return '0' <= c && c <= '9' }
func hexDigit(c byte) bool { return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if digit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// unreserved reports whether a character means the same escaped or not (RFC 3986, section 2.3).
func unreserved(c byte) bool {
	return letter(c) || digit(c) || c == '-' || c == '.' || c == '_' || c == '~'
}

// reserved reports whether a character is a delimiter (RFC 3986, section 2.2).
func reserved(c byte) bool { return strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0 }

func allowedInURI(c byte) bool { return unreserved(c) || reserved(c) || c == '%' }
