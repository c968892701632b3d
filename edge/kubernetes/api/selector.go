package api

import (
	"errors"
	"regexp"
)

// The grammar of selectors of labels.
const (
	word        = `[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?`
	key         = `(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?` + word
	value       = `(?:` + word + `)?`
	equality    = `\s*(?:==?|!=)\s*` + value
	set         = `\s+(?:in|notin)\s*\(\s*` + value + `\s*(?:,\s*` + value + `\s*)*\)`
	order       = `\s*[<>]\s*[0-9]+`
	requirement = `\s*(?:!\s*` + key + `|` + key + `(?:` + equality + `|` + set + `|` + order + `)?)\s*`
)

var selector = regexp.MustCompile(`^(?:` + requirement + `(?:,` + requirement + `)*)?$`)

// CheckSelector returns an error for an invalid label selector. The API server validates selectors,
// too; this reports mistakes at startup.
func CheckSelector(s string) error {
	if !selector.MatchString(s) {
		return errors.New(`it is not a selector of labels: use "name=value", "name!=value", "name in (a, b)", "name" or "!name", with commas between them`)
	}
	return nil
}
