package limit

import "fmt"

// Notes are sentences without duplicates, in the order of Add. The zero value is empty.
type Notes struct {
	all  []string
	seen map[string]bool
	more int
}

// Add adds a sentence, shortened to MaxNote. It ignores duplicates and sentences beyond MaxNotes.
func (n *Notes) Add(format string, args ...any) {
	text := Clip(fmt.Sprintf(format, args...), MaxNote)
	switch {
	case n.seen[text]:
	case len(n.all) == MaxNotes:
		n.more++
	default:
		if n.seen == nil {
			n.seen = map[string]bool{}
		}
		n.seen[text] = true
		n.all = append(n.all, text)
	}
}

// List returns the sentences. If some were ignored, a last sentence has their number.
func (n *Notes) List() []string {
	if n.more == 0 {
		return n.all
	}
	return append(n.all[:len(n.all):len(n.all)], fmt.Sprintf("%d more notes are left out", n.more))
}

// Clip shortens a text to most bytes, with a mark at its end.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 { // do not cut a character
		most--
	}
	return text[:most] + "…"
}
