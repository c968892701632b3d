package redact

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Secret returns a generated secret that one of the named patterns finds, or the expression ACME-[0-9]{8}. It is ASCII.
func Secret(r *rand.Rand) string {
	some := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(b)
	}
	const digits, upper, lower = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
	switch r.IntN(7) {
	case 0:
		return card(r, some)
	case 1:
		return some(lower+digits, 1+r.IntN(12)) + "@" + some(lower+digits, 1+r.IntN(8)) + ".example." + some(lower, 2+r.IntN(3))
	case 2:
		return iban(r, some)
	case 3:
		shapes := keys[[]string{"aws-key", "github-token", "gitlab-token", "slack-token", "google-key", "stripe-key", "openai-key", "anthropic-key"}[r.IntN(8)]]
		k := shapes[r.IntN(len(shapes))]
		n := k.least
		if !k.exact {
			n += r.IntN(20)
		}
		return k.prefix + some(upper+digits, n-1) + "7"
	case 4:
		return "eyJ" + some(lower+digits, 20) + "." + some(upper+lower+digits+"_-", 30) + "." + some(lower+digits, 20)
	case 5:
		return "-----BEGIN PRIVATE KEY-----\n" + some(upper+lower+digits+"+/", 64) + "\n-----END PRIVATE KEY-----"
	}
	return "ACME-" + some(digits, 8)
}

func card(r *rand.Rand, some func(string, int) string) string {
	prefix := []string{"4", "51", "55", "34", "37", "6011", "36", "3530", "62"}[r.IntN(9)]
	n := map[string]int{"34": 15, "37": 15, "36": 14}[prefix]
	if n == 0 {
		n = 16
	}
	number := prefix + some("0123456789", n-len(prefix)-1)
	for d := '0'; d <= '9'; d++ {
		if all := number + string(d); isCard([]byte(all)) {
			number = all
			break
		}
	}
	if len(number) < 16 || r.IntN(3) == 0 {
		return number
	}
	return strings.Join([]string{number[:4], number[4:8], number[8:12], number[12:]}, []string{" ", "-"}[r.IntN(2)])
}

func iban(r *rand.Rand, some func(string, int) string) string {
	country := []string{"DE", "GB", "FR", "NO", "MT"}[r.IntN(5)]
	rest := some("0123456789ABCDEF", ibanLengths[country]-4)
	for check := range 97 {
		if all := fmt.Sprintf("%s%02d%s", country, check+2, rest); ibanEnd(all, 0) == len(all) {
			return all
		}
	}
	panic("no check digits fit")
}
