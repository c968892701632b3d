// Package uristest generates equivalent spellings of URIs for tests.
package uristest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Respell returns another spelling of a URI without escapes: it escapes some unreserved characters,
// with digits in either case, and writes letters of the scheme in upper case.
func Respell(r *rand.Rand, uri string) string {
	var b strings.Builder
	colon := strings.IndexByte(uri, ':')
	for at := range len(uri) {
		c := uri[at]
		switch {
		case at < colon && r.IntN(2) == 0:
			b.WriteString(strings.ToUpper(string(c)))
		case at > colon && strings.IndexByte(":/?#[]@!$&'()*+,;=", c) < 0 && (c >= 0x80 || r.IntN(3) == 0):
			fmt.Fprintf(&b, []string{"%%%02x", "%%%02X"}[r.IntN(2)], c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
