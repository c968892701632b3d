package dispatch

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxMarks bounds the marks that are shown after one letter.
	maxMarks = 4
	// fewSpaces is the number of consecutive spaces that are shown unchanged.
	fewSpaces = 2
)

// blank are printable characters without a visible shape: the empty pattern of Braille, and the
// empty head of a note.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}},
}

// visible renders a text piece by piece so that the user can see every character. It escapes
// control characters, characters that change the direction of text, invisible ones, and marks that
// are drawn over other characters. The zero value is ready to use.
type visible struct {
	// marks is the number of marks that may follow.
	marks int
}

// next renders the first piece of text, which is not empty, and returns its length in text.
func (v *visible) next(text string) (shown string, n int) {
	if n = len(text) - len(strings.TrimLeft(text, " ")); n > fewSpaces {
		v.marks = 0
		return fmt.Sprintf("[%d spaces]", n), n
	}
	c, n := utf8.DecodeRuneInString(text)
	switch {
	case c == utf8.RuneError && n == 1:
		v.marks = 0
		return `\ufffd`, n
	case v.shows(c):
		return text[:n], n
	case c == '\n':
		return `\n`, n
	case c == '\r':
		return `\r`, n
	case c == '\t':
		return `\t`, n
	case c > 0xffff:
		return fmt.Sprintf(`\U%08x`, c), n
	}
	return fmt.Sprintf(`\u%04x`, c), n
}

// shows reports whether a character is shown unchanged. A mark is shown after a letter of its own
// script. Marks without a script, such as strokes and circles, are escaped, because they can be
// drawn over any text.
func (v *visible) shows(c rune) bool {
	switch {
	case c < utf8.RuneSelf:
		v.marks = 0
		if unicode.IsLetter(c) {
			v.marks = maxMarks
		}
		return ' ' <= c && c <= '~'
	case !strconv.IsPrint(c), unicode.In(c, blank, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Me):
		return false
	case unicode.Is(unicode.Mn, c):
		if v.marks == 0 || unicode.Is(unicode.Inherited, c) {
			return false
		}
		v.marks--
	case unicode.IsLetter(c):
		v.marks = maxMarks
	case !unicode.Is(unicode.Mc, c): // These have a width of their own.
		v.marks = 0
	}
	return true
}

// printable returns a text in which the user can see every character.
func printable(text string) string {
	var (
		b strings.Builder
		v visible
	)
	for text != "" {
		shown, n := v.next(text)
		b.WriteString(shown)
		text = text[n:]
	}
	return b.String()
}

// quoted returns the beginning of a text in quotation marks, so that the user can see every
// character. At most most bytes are between the marks. rest is the remaining text.
func quoted(text string, most int) (_, rest string) {
	var v visible
	b := []byte{'"'}
	for text != "" {
		shown, n := v.next(text)
		if shown == `"` || shown == `\` {
			shown = `\` + shown
		}
		if len(b)-1+len(shown) > most {
			break
		}
		b, text = append(b, shown...), text[n:]
	}
	return string(append(b, '"')), text
}
