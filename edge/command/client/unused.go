package client

import (
	"fmt"
	"slices"
	"strings"
)

// unused returns an error about the answers that no question used, or nil. In a revision with keys,
// a second answer to a key that the tool asked for is not an error.
func (s *callSettings) unused() error {
	keys, asked := s.answers.unused()
	if len(keys) == 0 {
		return nil
	}
	for i := range keys {
		keys[i] = fmt.Sprintf("%q", keys[i])
	}
	given := "--answer " + strings.Join(keys, ", ")
	switch {
	case len(asked) > 0 && len(keys) == 1:
		return s.errorf("%s: no question of %s has this key: it asked %s", given, s.tool, strings.Join(asked, ", "))
	case len(asked) > 0:
		return s.errorf("%s: no question of %s has these keys: it asked %s", given, s.tool, strings.Join(asked, ", "))
	case s.answers.questions == 0:
		return s.errorf("%s: %s asked nothing", given, s.tool)
	case s.answers.questions == 1:
		return s.errorf("%s: %s asked 1 question, which the answer before took", given, s.tool)
	}
	return s.errorf("%s: %s asked %d questions, which the answers before took", given, s.tool, s.answers.questions)
}

// unused returns the keys of the unused answers, and the quoted keys of the questions.
func (a *answers) unused() (keys, asked []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.left {
		if !slices.Contains(a.asked, one.key) && !slices.Contains(keys, one.key) {
			keys = append(keys, one.key)
		}
	}
	for _, key := range a.asked {
		asked = append(asked, fmt.Sprintf("%q", key))
	}
	return keys, asked
}
