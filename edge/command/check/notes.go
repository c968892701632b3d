package check

import (
	"bytes"
	"fmt"
	"io"
)

// notes writes lines, each complete in one call, and delays the notes about settings. Notes about a
// backend are indented.
type notes struct {
	to   io.Writer
	held []string
}

// notePrefix begins the line of a note about the settings.
const notePrefix = "note    "

// Write implements io.Writer.
func (n *notes) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		if text, is := bytes.CutPrefix(line, []byte(notePrefix)); is {
			n.held = append(n.held, string(bytes.TrimRight(text, "\n")))
			continue
		}
		if _, err := n.to.Write(line); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// conclude writes the notes, each with its place in the file if it has one there.
func (n *notes) conclude(placeOf func(note string) string) {
	for _, text := range n.held {
		if place := placeOf(text); place != "" {
			text += " (" + place + ")"
		}
		_, _ = fmt.Fprintln(n.to, notePrefix+text)
	}
}
