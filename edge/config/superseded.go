package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// superseded returns a note for each key of the file that a variable of the environment overrides.
// A flag is for one run, and needs no note.
func (c *Config) superseded() (notes []string) {
	if c.origins == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(c.origins.others)) {
		variable := c.origins.others[key]
		line := c.origins.lines[key]
		if line == 0 || strings.HasPrefix(variable, "--") {
			continue
		}
		notes = append(notes, fmt.Sprintf("%s: line %d of %s has no effect: %s sets the key: unset the variable, or take the key out of the file", key, line, c.origins.file, variable))
	}
	return notes
}
