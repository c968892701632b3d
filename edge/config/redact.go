package config

import (
	"regexp"
)

// secretInURL matches the secrets in a URL: user and password before the host, and passwords and
// tokens in the query. A password may have any character except space, including @.
var secretInURL = regexp.MustCompile(`(?i)(://)[^\s"'<>]*@|([?&](?:[a-z_]*password|secret|token|api_?key|access_token)=)[^&\s"'<>]*`)

// Redact replaces users, passwords and tokens in the URLs of a text by ***.
func Redact(text string) string {
	return secretInURL.ReplaceAllStringFunc(text, func(found string) string {
		m := secretInURL.FindStringSubmatch(found)
		if m[1] != "" {
			return m[1] + "***@"
		}
		return m[2] + "***"
	})
}

// redacted is an error whose text may have URLs with passwords.
type redacted struct{ err error }

// Error implements error.
func (r redacted) Error() string { return Redact(r.err.Error()) }

// Unwrap returns the error whose text is redacted.
func (r redacted) Unwrap() error { return r.err }

func withoutSecrets(err error) error {
	if err == nil || Redact(err.Error()) == err.Error() {
		return err
	}
	return redacted{err}
}

// secretive matches lines that may have a secret, or be next to one: names of settings with
// secrets, URLs with a user, and words as long as a key.
var secretive = regexp.MustCompile(`(?i)redis|seal-?key|state-?key|secret|passw|token|credential|://|@|[^\s"'{}\[\],:]{24,}`)
