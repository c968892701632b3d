package app

import (
	"errors"
	"regexp"
)

// optionOf finds in an error of go-redis which option of the URL is wrong.
var optionOf = regexp.MustCompile(`^redis: (invalid [A-Za-z_]+ (?:number|duration|boolean)|unexpected option|unable to parse addr)`)

// optionError returns the error of a URL that go-redis does not take, without the values that
// go-redis repeats of it: each may be a part of a password.
func optionError(err error) error {
	what := "an option in its query is wrong"
	if m := optionOf.FindStringSubmatch(err.Error()); m != nil {
		what = m[1]
	}
	return errors.New("redis.url: the URL cannot be used: " + what + ": its query takes the options of go-redis, such as dial_timeout=3s; percent-encode / # @ ? & and % in their values")
}
