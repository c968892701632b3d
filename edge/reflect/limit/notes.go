package limit

import "fmt"

// Notes are sentences, each once, in the order in which they came. The zero value is empty.
type Notes struct {
	all  []string
	seen map[string]bool
	more int
}

// Add adds a sentence, shortened to MaxNote, unless it is there already or there are MaxNotes.
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

// List returns the sentences, and as the last one how many were left out, if any.
func (n *Notes) List() []string {
	if n.more == 0 {
		return n.all
	}
	return append(n.all[:len(n.all):len(n.all)], fmt.Sprintf("%d more notes are left out", n.more))
}
