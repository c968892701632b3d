package command

import (
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// Terminal writes texts of backends and servers to a terminal. It escapes control characters except
// newlines and tabs, because they could move the cursor, rewrite lines or reverse text. It is not
// safe for concurrent use.
type Terminal struct {
	To io.Writer
	// partial is an incomplete character at the end of the last Write.
	partial []byte
}

// Write implements io.Writer.
func (p *Terminal) Write(b []byte) (int, error) {
	text := append(p.partial, b...)
	out := make([]byte, 0, len(text))
	for len(text) > 0 && (utf8.FullRune(text) || len(text) >= utf8.UTFMax) {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\r' && len(text) > 1 && text[1] == '\n':
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02x`, text[0])
		case r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)):
			if r < utf8.RuneSelf {
				out = fmt.Appendf(out, `\x%02x`, r)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
		default:
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	p.partial = append([]byte(nil), text...)
	if _, err := p.To.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}
