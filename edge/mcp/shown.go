package mcp

import (
	"strings"
	"unicode/utf8"
)

// Shown returns a name that a client or a backend chose as operators are shown it: of at most most
// bytes, with U+FFFD for each byte that is no UTF-8 and each character that IsControl. It does not
// allocate if there is nothing to change.
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
	for _, r := range name { // U+FFFD for a byte that is no UTF-8
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

// EscapeControls returns a JSON text in which the characters that IsControl are escaped, also those
// that JSON allows in strings. New lines between values stay. It changes and returns the text
// itself if there are none.
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
			out = append(out, '\\', 'u', hex[r>>12&0xf], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf]) // none is beyond U+FFFF
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
