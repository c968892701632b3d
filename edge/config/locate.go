package config

import (
	"fmt"
	"strings"
)

// Locator returns a function that maps a note on the settings to the place of its key: in the file,
// as in "edge.yaml:12", or the flag or the variable that has set it. It returns an empty string if
// the note begins with no such key.
func (c *Config) Locator() func(note string) string {
	return c.origins.locator()
}

// locator is Locator. p may be nil.
func (p *origins) locator() func(note string) string {
	return func(note string) string {
		if p == nil || !beginsWithKey(note) {
			return ""
		}
		path := p.pathOf(note)
		if other := p.otherOf(path); other != "" || path == "" {
			return other
		}
		return fmt.Sprintf("%s:%d", p.file, p.lines[path])
	}
}

// beginsWithKey reports whether a note begins with a key and a colon, or with a list entry, its
// name and a colon.
func beginsWithKey(note string) bool {
	head, _, found := strings.Cut(note, ": ")
	key, _, named := strings.Cut(head, " ")
	return found && (!named || strings.HasSuffix(key, "]"))
}

// locate prefixes a note that begins with a key with the file and the line of the key. It returns
// another note unchanged.
func (p *origins) locate(note string) string {
	path := p.pathOf(note)
	if path == "" {
		return note
	}
	return fmt.Sprintf("%s:%d: %s", p.file, p.lines[path], note)
}
