package config

import (
	"regexp"
	"strings"
)

// secretInURL is what of a URL nobody else may read: the user and password before the host, and what the query has of them. A password may
// have any character but space, an @ too.
var secretInURL = regexp.MustCompile(`(?i)(://)[^\s"'<>]*@|([?&](?:[a-z_]*password|secret|token|api_?key|access_token)=)[^&\s"'<>]*`)

// Redact replaces the users, passwords and tokens of the URLs in a text by ***.
func Redact(text string) string {
	return secretInURL.ReplaceAllStringFunc(text, func(found string) string {
		m := secretInURL.FindStringSubmatch(found)
		if m[1] != "" {
			return m[1] + "***@"
		}
		return m[2] + "***"
	})
}

// redacted is an error about settings, which may have URLs with passwords.
type redacted struct{ err error }

// Error implements error.
func (r redacted) Error() string { return Redact(r.err.Error()) }

// Unwrap returns the error whose text is redacted.
func (r redacted) Unwrap() error { return r.err }

func redact(err error) error {
	if err == nil || Redact(err.Error()) == err.Error() {
		return err
	}
	return redacted{err}
}

// excerptLine is a line of the file as an error of the YAML decoder shows it: its mark, number and indentation, dashes, key, and the rest.
var excerptLine = regexp.MustCompile(`(?m)^(>?)(\s*\d+ \| *)((?:- +)*)([A-Za-z0-9_-]+:(?: |$))?(.*)$`)

// secretive is in lines that have a secret, or stand near one: the names of settings that do, URLs with a user, and what is as long as a key.
var secretive = regexp.MustCompile(`(?i)redis|state-?key|secret|passw|token|credential|://|@|[^\s"'{}\[\],:]{24,}`)

// withoutValues shows of the lines of a file the keys alone, and the value of the line that is wrong if nothing near it may be a secret.
func withoutValues(text string) string {
	_, excerpt, _ := strings.Cut(text, "\n")
	near := secretive.MatchString(excerpt)
	return excerptLine.ReplaceAllStringFunc(text, func(line string) string {
		m := excerptLine.FindStringSubmatch(line)
		if shown := m[1] != "" && m[4] != "" && !near; m[5] != "" && !shown {
			m[5] = "…"
		}
		return strings.Join(m[1:], "")
	})
}
