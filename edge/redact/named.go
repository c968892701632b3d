package redact

import (
	"slices"
	"strings"
)

// match is the part text[from:to] of a text.
type match struct{ from, to int }

// finder returns the secrets in a text, in their order. Its time is linear in the length of the
// text.
type finder func(text string) []match

// namedPattern is a pattern with a name.
type namedPattern struct {
	find finder
	// weight is the cost for each byte. It is comparable to the number of instructions of an
	// expression.
	weight int64
}

// keysName is the name of the pattern that combines others.
const keysName = "keys"

// patterns maps names to patterns, except for keysName.
var patterns = map[string]namedPattern{
	"card": {cards, 2}, "email": {emails, 1}, "iban": {ibans, 2}, "private-key": {privateKeys, 1}, "jwt": {jwts, 1}, "bearer": {bearers, 2},
}

func init() {
	for name, k := range keys {
		patterns[name] = namedPattern{func(text string) []match { return findKeys(k, text) }, 1}
	}
}

// Named returns the sorted names of all named patterns.
func Named() []string {
	out := []string{keysName}
	for name := range patterns {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// inKeys are the patterns that keysName combines with those of keys.
var inKeys = []string{"private-key", "jwt", "bearer"}

func isNamed(name string) bool {
	_, ok := patterns[name]
	return ok || name == keysName
}

func named(name string) (finder, int64, bool) {
	if name != keysName {
		p, ok := patterns[name]
		return p.find, p.weight, ok
	}
	var all []namedPattern
	var weight int64
	for _, one := range Named() {
		if _, isKey := keys[one]; isKey || slices.Contains(inKeys, one) {
			all = append(all, patterns[one])
			weight += patterns[one].weight
		}
	}
	return func(text string) (out []match) {
		if len(text) < leastKey {
			return nil
		}
		for i := range all {
			out = append(out, all[i].find(text)...)
		}
		return out
	}, weight, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }

// isIdentifierByte reports whether a byte can be part of an identifier.
func isIdentifierByte(c byte) bool { return isAlnum(c) || c == '_' }

// key describes a format of keys: a prefix and further characters.
type key struct {
	prefix string
	// class accepts the characters after the prefix. least is their minimum number, or their exact
	// number if exact is true.
	class func(byte) bool
	least int
	exact bool
}

// within reports whether a key after the byte c would be part of a word. Prefixes such as sk- also
// end words.
func (k *key) within(c byte) bool { return isAlnum(c) || k.prefix[2] == '-' && dashed(c) }

// leastKey is a lower bound of the length of every key. Shorter texts are not searched.
const leastKey = 14

func dashed(c byte) bool { return isIdentifierByte(c) || c == '-' }

func dotted(c byte) bool { return dashed(c) || c == '.' }

func slashed(c byte) bool { return dashed(c) || c == '/' }

func capital(c byte) bool { return isDigit(c) || c >= 'A' && c <= 'Z' }

// keys maps the names of patterns to their formats of keys.
var keys = map[string][]key{
	"aws-key": {{"AKIA", capital, 16, true}, {"ASIA", capital, 16, true}},
	"github-token": {
		{"ghp_", isIdentifierByte, 36, false}, {"gho_", isIdentifierByte, 36, false}, {"ghu_", isIdentifierByte, 36, false}, {"ghs_", isIdentifierByte, 36, false}, {"ghr_", isIdentifierByte, 36, false},
		{"github_pat_", isIdentifierByte, 22, false},
	},
	"gitlab-token": {
		{"glpat-", dotted, 20, false}, {"gldt-", dotted, 20, false}, {"glrt-", dotted, 20, false}, {"glptt-", dotted, 20, false},
		{"glcbt-", dotted, 20, false}, {"glft-", dotted, 20, false}, {"glsoat-", dotted, 20, false}, {"gloas-", dotted, 20, false},
	},
	"slack-token": {
		{"xoxb-", dashed, 10, false}, {"xoxp-", dashed, 10, false}, {"xoxa-", dashed, 10, false}, {"xoxr-", dashed, 10, false},
		{"xoxs-", dashed, 10, false}, {"xoxe-", dashed, 10, false}, {"xapp-", dashed, 10, false},
		{"hooks.slack.com/services/", slashed, 20, false},
	},
	"google-key": {{"AIza", dashed, 35, true}, {"GOCSPX-", dashed, 24, false}, {"ya29.", dashed, 20, false}},
	"stripe-key": {
		{"sk_live_", isAlnum, 16, false}, {"sk_test_", isAlnum, 16, false}, {"rk_live_", isAlnum, 16, false}, {"rk_test_", isAlnum, 16, false},
		{"whsec_", isAlnum, 16, false},
	},
	"openai-key":    {{"sk-", dashed, 32, false}},
	"anthropic-key": {{"sk-ant-", dashed, 20, false}},
}

func findKeys(shapes []key, text string) (out []match) {
	for i := range shapes {
		k := &shapes[i]
		for at := 0; ; {
			n := strings.Index(text[at:], k.prefix)
			if n < 0 {
				break
			}
			from := at + n
			to := from + len(k.prefix)
			for to < len(text) && k.class(text[to]) {
				to++
			}
			rest := to - from - len(k.prefix)
			at = max(to, from+1)
			if rest < k.least || k.exact && rest != k.least || from > 0 && k.within(text[from-1]) {
				continue
			}
			for text[to-1] == '.' {
				to--
			}
			out = append(out, match{from, to})
		}
	}
	return out
}

// jwts finds JSON Web Tokens, signed, unsigned and encrypted. These are parts of base64url that
// dots separate. The first part is the encoding of an object.
func jwts(text string) (out []match) {
	for at := 0; ; {
		n := strings.Index(text[at:], "eyJ")
		if n < 0 {
			return out
		}
		from := at + n
		to, parts, length := from, 1, 0
		enough := true
		for ; to < len(text) && (dashed(text[to]) || text[to] == '.'); to++ {
			if text[to] != '.' {
				length++
				continue
			}
			enough = enough && (parts > 2 || length >= 10)
			parts, length = parts+1, 0
		}
		at = max(to, from+1)
		if enough && parts >= 3 && (from == 0 || !isAlnum(text[from-1])) {
			out = append(out, match{from, to})
		}
	}
}

// bearers finds a token after the word Bearer. It must have at least 16 characters, with a digit
// and a letter.
func bearers(text string) (out []match) {
	const scheme = "bearer"
	for at := 0; at+len(scheme) < len(text); {
		n := strings.IndexAny(text[at:], "bB")
		if n < 0 {
			break
		}
		from := at + n
		at = from + 1
		if from+len(scheme) >= len(text) || !strings.EqualFold(text[from:from+len(scheme)], scheme) || from > 0 && isIdentifierByte(text[from-1]) {
			continue
		}
		begin := from + len(scheme)
		for begin < len(text) && (text[begin] == ' ' || text[begin] == '\t') {
			begin++
		}
		to, digits, letters := begin, false, false
		for ; to < len(text) && (dotted(text[to]) || strings.IndexByte("~+/=", text[to]) >= 0); to++ {
			digits, letters = digits || isDigit(text[to]), letters || isLetter(text[to])
		}
		if begin == from+len(scheme) || to-begin < 16 || !digits || !letters {
			continue
		}
		out, at = append(out, match{begin, to}), to
	}
	return out
}

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
	pemDash  = "-----"
	// maxLabel bounds the length of a block's label.
	maxLabel = 64
)

// privateKeys finds PEM blocks of private keys. A block without an end line extends to the end of
// the text.
func privateKeys(text string) (out []match) {
	for at := 0; ; {
		n := strings.Index(text[at:], pemBegin)
		if n < 0 {
			return out
		}
		from := at + n
		label := text[from+len(pemBegin):]
		at = from + len(pemBegin)
		stop := strings.Index(label[:min(len(label), maxLabel)], pemDash)
		if stop < 0 || !strings.Contains(label[:stop], "PRIVATE KEY") {
			continue
		}
		end := strings.Index(text[at:], pemEnd)
		if end < 0 {
			return append(out, match{from, len(text)})
		}
		to := at + end + len(pemEnd)
		if closing := strings.Index(text[to:min(len(text), to+maxLabel)], pemDash); closing >= 0 {
			to += closing + len(pemDash)
		}
		out, at = append(out, match{from, to}), to
	}
}

// emails finds e-mail addresses.
func emails(text string) (out []match) {
	local := func(c byte) bool { return isAlnum(c) || c >= 0x80 || strings.IndexByte("._%+-'", c) >= 0 }
	for at := 0; ; {
		n := strings.IndexByte(text[at:], '@')
		if n < 0 {
			return out
		}
		sign := at + n
		from := sign
		for from > at && local(text[from-1]) {
			from--
		}
		for from < sign && (text[from] == '.' || text[from] == '\'') {
			from++
		}
		at = sign + 1
		if to := domainEnd(text, at); to > 0 && from < sign {
			out, at = append(out, match{from, to}), to
		}
	}
}

// domainEnd returns the index after the longest domain at an index, or 0 if there is none. A domain
// is a list of labels that ends with a top-level domain.
func domainEnd(text string, from int) (end int) {
	for i := from; ; {
		label := i
		for i < len(text) && (isAlnum(text[i]) || text[i] >= 0x80 || text[i] == '-') {
			i++
		}
		if label == from && i == from {
			return 0
		}
		top := i
		if !strings.HasPrefix(text[label:i], "xn--") {
			for top = label; top < i && (isLetter(text[top]) || text[top] >= 0x80); {
				top++
			}
		}
		for top == i && top > label && text[top-1] == '-' {
			top--
		}
		if label > from && top-label >= 2 && (top == i || text[top] == '-') {
			end = top
		}
		if i == len(text) || text[i] != '.' {
			return end
		}
		i++
	}
}
