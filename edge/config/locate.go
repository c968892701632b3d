package config

import (
	"fmt"
	"os"
	"strings"
)

// Locator returns the function that tells the place of a note about the settings in their file, as in "edge.yaml:12", by the key that the
// note begins with. It returns empty for a note that begins with none, or with one that the environment or a flag has set.
func (c *Config) Locator() func(note string) string {
	nowhere := func(string) string { return "" }
	if c.File == "" {
		return nowhere
	}
	raw, err := os.ReadFile(c.File) // #nosec G304 -- the operator names the file
	if err != nil {
		return nowhere
	}
	written, err := ReadFile(c.File)
	if err != nil {
		return nowhere
	}
	s, _ := newSource(c.File, raw)
	others := Differences(&written, c)
	return func(note string) string {
		if path := s.pathOf(note); beginsWithKey(note) && s.own(path, others) {
			return fmt.Sprintf("%s:%d", c.File, s.lines[path])
		}
		return ""
	}
}

// beginsWithKey reports whether a note begins with a key and a colon, or with an entry of a list, its name and a colon.
func beginsWithKey(note string) bool {
	head, _, found := strings.Cut(note, ": ")
	key, _, named := strings.Cut(head, " ")
	return found && (!named || strings.HasSuffix(key, "]"))
}
