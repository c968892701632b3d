package auth

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"
)

// maxDepth bounds the depth of JSON in tokens: claims are a few levels deep.
const maxDepth = 100

// uniqueMembers says whether a text is one JSON value in UTF-8, of maxDepth levels at most, in which no object has two members of
// one name. Decoding makes the same of bytes that are no UTF-8, whatever they are, and no protobuf message can have them.
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

// maxSeconds bounds times, in seconds since 1970: the year 2255. Nanoseconds since then are kept in 64 bits.
const maxSeconds = 9_000_000_000

// boundTimes bounds the times of a token, of which the library would make others or none: what is beyond maxSeconds,
// either way, is that, and 0 is a time like any other.
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
