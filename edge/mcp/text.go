package mcp

import "unicode/utf8"

// MaxText bounds the text of a backend's status or Failure, in bytes, wherever it is used: to
// clients, in logs, and in the state of the backend.
const MaxText = 4 << 10

// ClipText returns a text of at most MaxText bytes. A longer text is cut off and marked by an
// ellipsis.
func ClipText(text string) string {
	if len(text) <= MaxText {
		return text
	}
	end := MaxText - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
