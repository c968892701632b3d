package redact

import "strings"

// separator returns the length of the separator of a number's groups at i, or 0 if there is none.
func separator(text string, i int) int {
	if i >= len(text) {
		return 0
	}
	if c := text[i]; c == ' ' || c == '-' {
		return 1
	}
	for _, s := range []string{"\u00a0", "\u202f", "\u2009", "\u2010", "\u2011", "\u2012", "\u2013", "\u2212"} {
		if strings.HasPrefix(text[i:], s) {
			return len(s)
		}
	}
	return 0
}

// group is a run of digits.
type group struct{ from, to int }

const (
	leastCard, mostCard = 12, 19
	// leastGroup is the minimum length of the groups of a card number, except for the last one.
	leastGroup = 3
)

// cards finds card numbers: 12 to 19 digits with the prefix and length of a scheme and a valid
// check digit. The digits are in one group, or in groups with one separator between them.
func cards(text string) (out []match) {
	var groups []group // groups with one separator between them
	flush := func() {
		for i := 0; i < len(groups); {
			n := cardIn(text, groups[i:])
			if n == 0 {
				i++
				continue
			}
			out = append(out, match{groups[i].from, groups[i+n-1].to})
			i += n
		}
		groups = groups[:0]
	}
	for i := 0; i < len(text); {
		if !isDigit(text[i]) {
			i++
			continue
		}
		from := i
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		within := from > 0 && isLetter(text[from-1]) || i < len(text) && isLetter(text[i]) ||
			from > 1 && text[from-1] == '.' && isDigit(text[from-2]) || fractional(text, i)
		if within || i-from > mostCard {
			flush()
			continue
		}
		if len(groups) > 0 {
			last := groups[len(groups)-1].to
			if n := separator(text, last); n == 0 || last+n != from {
				flush()
			}
		}
		groups = append(groups, group{from, i})
	}
	flush()
	return out
}

// fractional reports whether a fraction other than zero begins at i.
func fractional(text string, i int) bool {
	if i+1 >= len(text) || text[i] != '.' || !isDigit(text[i+1]) {
		return false
	}
	for i++; i < len(text) && text[i] == '0'; {
		i++
	}
	return i < len(text) && isAlnum(text[i])
}

// cardIn returns the number of leading groups that form a card number, or 0. It prefers the longest
// number.
func cardIn(text string, groups []group) (n int) {
	var digits [mostCard]byte
	length := 0
	for i, g := range groups {
		if length+g.to-g.from > mostCard {
			break
		}
		length += copy(digits[length:], text[g.from:g.to])
		if length >= leastCard && isCard(digits[:length]) {
			n = i + 1
		}
		if g.to-g.from < leastGroup {
			break
		}
	}
	return n
}

// isCard reports whether digits form a card number.
func isCard(digits []byte) bool {
	sum, double := 0, false
	for i := len(digits) - 1; i >= 0; i-- {
		d := int(digits[i] - '0')
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum, double = sum+d, !double
	}
	return sum%10 == 0 && hasScheme(digits)
}

// hasScheme reports whether a scheme issues card numbers with this prefix and length.
func hasScheme(digits []byte) bool {
	prefix, n := 0, len(digits)
	for _, d := range digits[:4] {
		prefix = prefix*10 + int(d-'0')
	}
	within := func(from, to int) bool { return prefix >= from && prefix <= to }
	switch {
	case within(4000, 4999): // Visa
		return n == 13 || n == 16 || n == 19
	case within(5100, 5599), within(2221, 2720): // Mastercard
		return n == 16
	case within(3400, 3499), within(3700, 3799): // American Express
		return n == 15
	case within(3000, 3059), within(3095, 3095), within(3600, 3699), within(3800, 3999): // Diners Club
		return n >= 14
	case within(3528, 3589), within(2200, 2204): // JCB, Mir
		return n >= 16
	case within(6011, 6011), within(6440, 6599), within(6200, 6299), within(6000, 6099), within(8100, 8299), within(5080, 5089): // Discover, UnionPay, RuPay
		return n >= 16
	case within(5018, 5018), within(5020, 5020), within(5038, 5038), within(5893, 5893), within(6304, 6304), within(6759, 6763): // Maestro
		return true
	}
	return false
}

// ibanLengths maps country codes to the lengths of account numbers.
var ibanLengths = func() map[string]int {
	out := map[string]int{}
	for n, countries := range map[int]string{
		15: "NO", 16: "BE", 18: "DK FK FI FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK",
		21: "CH HR LI LV", 22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG",
		25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HN HU LB NI PL SV", 29: "BR EG PS QA UA",
		30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
	} {
		for _, c := range strings.Fields(countries) {
			out[c] = n
		}
	}
	return out
}()

// ibans finds international bank account numbers with the length of their country and valid check
// digits. They are in one group, or in groups with one separator between them.
func ibans(text string) (out []match) {
	for i := 0; i+4 < len(text); i++ {
		if !isLetter(text[i]) || !isLetter(text[i+1]) || !isDigit(text[i+2]) || i > 0 && isAlnum(text[i-1]) {
			continue
		}
		if to := ibanEnd(text, i); to > 0 {
			out = append(out, match{i, to})
			i = to - 1
		}
	}
	return out
}

// ibanEnd returns the index after the account number at from, or 0 if there is none.
func ibanEnd(text string, from int) int {
	var raw [34]byte
	most, n, i := len(raw), 0, from
	for n < most {
		if n > 3 {
			i += separator(text, i)
		}
		if i >= len(text) || !isAlnum(text[i]) {
			return 0
		}
		c := text[i]
		if isLetter(c) {
			c &^= 0x20
		}
		raw[n], n, i = c, n+1, i+1
		if n == 2 {
			if most = ibanLengths[string(raw[:2])]; most == 0 {
				return 0
			}
		}
	}
	if i < len(text) && isAlnum(text[i]) {
		return 0
	}
	rest := 0
	for k := range n {
		c := raw[(k+4)%n]
		if isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	if rest != 1 {
		return 0
	}
	return i
}
