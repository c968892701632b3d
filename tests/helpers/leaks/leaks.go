// Package leaks generates secrets for the tests of the setting redact.
package leaks

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Expression finds the secrets of Draw that no named pattern finds.
const Expression = `ACME-[0-9]{8}`

// Secret is a generated secret, in ASCII.
type Secret struct {
	// Text is the secret. Part is a line of it that must not be left.
	Text, Part string
}

// IsNumber reports whether the secret may be a number in JSON.
func (s Secret) IsNumber() bool { return strings.Trim(s.Text, "0123456789") == "" }

// IsIn reports whether the secret is in a text, also if it has escapes.
func (s Secret) IsIn(text string) bool { return strings.Contains(text, s.Part) }

// prefixes are shapes of keys: the prefix, the length of the rest, and whether that may be longer.
var prefixes = []struct {
	text string
	n    int
	more bool
}{
	{"AKIA", 16, false}, {"ghp_", 36, true}, {"github_pat_", 30, true}, {"glpat-", 20, true}, {"xoxb-", 24, true}, {"AIza", 35, false},
	{"GOCSPX-", 28, true}, {"sk_live_", 24, true}, {"sk-proj-", 40, true}, {"sk-ant-api03-", 40, true},
}

const (
	digits = "0123456789"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower  = "abcdefghijklmnopqrstuvwxyz"
)

// Draw returns a secret of a random kind.
func Draw(r *rand.Rand) Secret {
	var text string
	switch r.IntN(7) {
	case 0:
		text = card(r)
	case 1:
		text = randomText(r, lower+digits, 6+r.IntN(12)) + "@" + randomText(r, lower+digits, 3+r.IntN(8)) + ".example." + randomText(r, lower, 2+r.IntN(3))
	case 2:
		text = iban(r)
	case 3:
		p := prefixes[r.IntN(len(prefixes))]
		if p.more {
			p.n += r.IntN(20)
		}
		text = p.text + randomText(r, upper+digits, p.n-1) + "7"
	case 4:
		text = "eyJ" + randomText(r, lower+digits, 20) + "." + randomText(r, upper+lower+digits+"_-", 30) + "." + randomText(r, lower+digits, 20)
	case 5:
		line := randomText(r, upper+lower+digits, 64)
		return Secret{"-----BEGIN PRIVATE KEY-----\n" + line + "\n-----END PRIVATE KEY-----", line}
	default:
		text = "ACME-" + randomText(r, digits, 8)
	}
	return Secret{text, text}
}

func randomText(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

// card returns the number of a payment card, perhaps in groups.
func card(r *rand.Rand) string {
	prefix := []string{"4", "51", "55", "34", "37", "6011", "36", "3530", "62"}[r.IntN(9)]
	n := 16
	switch prefix {
	case "34", "37":
		n = 15
	case "36":
		n = 14
	}
	number := prefix + randomText(r, digits, n-len(prefix)-1)
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	number += strconv.Itoa((10 - sum%10) % 10)
	if n < 16 || r.IntN(3) == 0 {
		return number
	}
	return strings.Join([]string{number[:4], number[4:8], number[8:12], number[12:]}, []string{" ", "-"}[r.IntN(2)])
}

// iban returns the number of a bank account.
func iban(r *rand.Rand) string {
	country := []string{"DE", "GB", "FR", "NO", "MT"}[r.IntN(5)]
	rest := randomText(r, digits+"ABCDEF", map[string]int{"DE": 18, "GB": 18, "FR": 23, "NO": 11, "MT": 27}[country])
	mod := 0
	for _, c := range rest + country + "00" {
		if c <= '9' {
			mod = (mod*10 + int(c-'0')) % 97
		} else {
			mod = (mod*100 + int(c-'A') + 10) % 97
		}
	}
	return fmt.Sprintf("%s%02d%s", country, 98-mod, rest)
}

// Quoted returns a text as JSON.
func Quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

// Escaped returns a text as JSON, with escapes for some of its characters.
func Escaped(r *rand.Rand, s string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case r.IntN(4) == 0 || c < ' ' || c == '"' || c == '\\':
			b.WriteString(`\u00` + string(hex[c>>4]) + string(hex[c&15]))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Unescaped decodes the escapes \u00XX of a text, also those in strings in strings.
func Unescaped(s string) string {
	for strings.Contains(s, `\\u00`) {
		s = strings.ReplaceAll(s, `\\u00`, `\u00`)
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, `\u00`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if c, err := strconv.ParseUint(rest[:min(2, len(rest))], 16, 8); err == nil && len(rest) >= 2 {
			b.WriteByte(byte(c))
			rest = rest[2:]
		}
		s = rest
	}
}
