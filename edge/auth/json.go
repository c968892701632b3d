package auth

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"
)

// maxDepth bounds the nesting of JSON in tokens; claims have a few levels.
const maxDepth = 100

// uniqueMembers reports whether a text is one JSON value in UTF-8, of at most maxDepth levels,
// without duplicate members. Decoding would map all invalid UTF-8 to the same text, and protobuf
// messages cannot hold it.
func uniqueMembers(text []byte) bool {
	if !utf8.Valid(text) {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if !uniqueIn(d, maxDepth) {
		return false
	}
	_, err := d.Token()
	return err == io.EOF
}

// uniqueIn reads one value.
func uniqueIn(d *json.Decoder, depth int) bool {
	token, err := d.Token()
	if err != nil || depth == 0 {
		return false
	}
	opened, ok := token.(json.Delim)
	if !ok {
		return true
	}
	names := map[string]bool{}
	for d.More() {
		if opened == '{' {
			token, err := d.Token()
			name, ok := token.(string)
			if err != nil || !ok || names[name] {
				return false
			}
			names[name] = true
		}
		if !uniqueIn(d, depth-1) {
			return false
		}
	}
	_, err = d.Token()
	return err == nil
}

// decodeMembers decodes the members of a JSON object that into names. It matches exact names only;
// encoding/json would also take a member that differs in case for a field of a struct. An absent
// member leaves its value unchanged.
func decodeMembers(text []byte, into map[string]any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	for name, value := range into {
		if raw, ok := members[name]; ok {
			if err := json.Unmarshal(raw, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxSeconds bounds times, in seconds since 1970: the year 2255. Later times do not fit in 64 bits
// of nanoseconds.
const maxSeconds = 9_000_000_000

// boundTimes limits the times of a token to ±maxSeconds, because the library would convert other
// values to wrong times. It makes 0 a time like any other, which the library would treat as
// missing.
func boundTimes(claims jwt.MapClaims) {
	for _, name := range []string{"exp", "nbf", "iat"} {
		if n, ok := claims[name].(float64); ok {
			if n = min(max(n, -maxSeconds), maxSeconds); n == 0 {
				n = 1
			}
			claims[name] = n
		}
	}
}
