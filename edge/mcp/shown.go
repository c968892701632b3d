package mcp

import (
	"strings"
	"unicode/utf8"
)

// Shown returns a name that a client or a backend chose in a form for operators: at most most
// bytes, with U+FFFD for each byte that is not UTF-8 and each character for which IsControl is
// true. It does not allocate if the name needs no change.
func Shown(name string, most int) string {
	if len(name) > most {
		for most > 0 && !utf8.RuneStart(name[most]) {
			most--
		}
		name = name[:most]
	}
	if utf8.ValidString(name) && !strings.ContainsFunc(name, IsControl) {
		return name
	}
	return cleaned(name, most)
}

// cleaned is Shown of a name that has something to replace.
func cleaned(name string, most int) string {
	out := make([]byte, 0, len(name))
	for _, r := range name { // a byte that is not UTF-8 becomes U+FFFD
		if IsControl(r) {
			r = utf8.RuneError
		}
		if len(out)+utf8.RuneLen(r) > most {
			break
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// EscapeControls escapes the characters in a JSON text for which IsControl is true, including those
// that JSON allows in strings. New lines between values stay. It does not modify json, and returns
// it if it finds none.
func EscapeControls(json []byte) []byte {
	from := 0
	for from < len(json) && json[from] < 0x7f { // JSON has no other control characters in strings
		from++
	}
	if from == len(json) {
		return json
	}
	var out []byte
	for i := from; i < len(json); {
		r, size := utf8.DecodeRune(json[i:])
		if r >= 0x7f && IsControl(r) {
			const hex = "0123456789abcdef"
			if out == nil {
				out = append(make([]byte, 0, len(json)+64), json[:i]...)
			}
			out = append(out, '\\', 'u', hex[r>>12&0xf], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf]) // IsControl is false beyond U+FFFF
		} else if out != nil {
			out = append(out, json[i:i+size]...)
		}
		i += size
	}
	if out == nil {
		return json
	}
	return out
}
