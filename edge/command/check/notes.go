package check

import (
	"bytes"
	"fmt"
	"io"
)

// notes writes lines and keeps the notes about the settings until conclude. Each Write must have
// complete lines. Notes about a backend are indented, and written at once.
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

// conclude writes the notes about the settings. placeOf returns the place of a note in the settings
// file, or an empty text.
func (n *notes) conclude(placeOf func(note string) string) {
	for _, text := range n.held {
		if place := placeOf(text); place != "" {
			text += " (" + place + ")"
		}
		_, _ = fmt.Fprintln(n.to, notePrefix+text)
	}
}
