package command

import (
	"strings"
	"testing"
)

// Control characters of a backend are escaped, even if a character is split between two writes.
func TestTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"a tool\n\twith ünï\n":               "a tool\n\twith ünï\n",
		"\x1b]0;title\x07\x1b[2Jclear":       `\x1b]0;title\x07\x1b[2Jclear`,
		"rewritten\rOK":                      `rewritten\x0dOK`,
		"lines\r\n":                          "lines\n",
		"c1 \u009b31m":                       `c1 \u009b31m`,
		"turned \u202egnp.exe and \u2066on":  `turned \u202egnp.exe and \u2066on`,
		"no UTF-8 \xff.":                     `no UTF-8 \xff.`,
		"null \x00 delete \x7f backspace \b": `null \x00 delete \x7f backspace \x08`,
	} {
		var whole, parts strings.Builder
		if n, err := (&Terminal{To: &whole}).Write([]byte(in)); err != nil || n != len(in) || whole.String() != want {
			t.Errorf("%q: %q, want %q (%d, %v)", in, whole.String(), want, n, err)
		}
		if strings.Contains(in, "\r\n") {
			continue // the two writes differ: the first ends within the sequence
		}
		p := &Terminal{To: &parts}
		for i := range len(in) {
			if _, err := p.Write([]byte(in[i : i+1])); err != nil {
				t.Fatal(err)
			}
		}
		if parts.String() != want {
			t.Errorf("%q byte by byte: %q, want %q", in, parts.String(), want)
		}
	}
}
