package schema

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// A pattern of integers matches the decimal texts of its numbers and no other number's.
func TestIntegerPatterns(t *testing.T) {
	near := func(t *rapid.T, label string) int64 {
		n := rapid.SampledFrom([]int64{0, 9, 10, 99, 100, 1234, 4567, math.MaxInt64, math.MinInt64, -1, -10, -100}).Draw(t, label)
		d := rapid.Int64Range(-12, 12).Draw(t, label+" distance")
		if d > 0 && n > math.MaxInt64-d || d < 0 && n < math.MinInt64-d {
			return n
		}
		return n + d
	}
	all := extent(protoreflect.Int64Kind)
	rapid.Check(t, func(t *rapid.T) {
		lo, hi := near(t, "low"), near(t, "high")
		set := integers{all}.within(big.NewInt(lo), big.NewInt(hi))
		if out := rapid.Int64Range(-3, 3).Draw(t, "out"); rapid.Bool().Draw(t, "gap") {
			set = set.without(big.NewInt(lo + out%2))
		}
		if len(set) == 0 {
			return
		}
		re := regexp.MustCompile(set.pattern(all))
		for _, n := range []int64{near(t, "number"), lo, hi, rapid.Int64().Draw(t, "any")} {
			in := len(set.within(big.NewInt(n), big.NewInt(n))) > 0
			if text := strconv.FormatInt(n, 10); re.MatchString(text) != in {
				t.Fatalf("%s matches %s: %v, which is in the set: %v", re, text, !in, in)
			}
		}
	})
}

// A pattern that is rewritten matches as it did.
func TestPortablePatterns(t *testing.T) {
	texts := []string{"", "a", "A", "b", "ab", "aB", "a\nb", "a\rb", "a.b", "a-b", "^", "]", "\\", "ä", "\u017f", "S", "12", "a1_", "x y", "\t", "\v", "\u00a0", "aaa", "/", "😀"}
	for _, c := range []struct {
		expr string
		same bool // it is left as it is
	}{
		{`^[a-z]{1,2}\d*$`, true}, {`a|b`, true}, {`\w+`, true},
		{`(?i)^a?s$`, false}, {`^a.b$`, false}, {`(?s)^a.b$`, false}, {`\s`, false}, {`[[:alpha:]]+`, false}, {`\pL`, false},
		{`[^\]\\^-]`, true}, {`\Qa.b\E`, false}, {`(?P<x>a)(b)?`, false}, {`\Aab\z`, false}, {`a{2,}?`, true}, {`(?:a|b){2}`, false},
		{`\ba\b`, true}, {`\x{1F600}`, false}, {`^(?:/|\\)$`, false}, {`[\x00-\x1f]`, true}, {`^$`, true}, {`()`, true}, {`[^a]`, true}, {`[\s\S]`, true},
	} {
		got, ok := portable(c.expr)
		if !ok || (got == c.expr) != c.same {
			t.Errorf("%s became %s, %v", c.expr, got, ok)
			continue
		}
		before, after := regexp.MustCompile(c.expr), regexp.MustCompile(got)
		for _, text := range texts {
			if before.MatchString(text) != after.MatchString(text) {
				t.Errorf("%s became %s, which matches %q otherwise", c.expr, got, text)
			}
		}
	}
	for _, expr := range []string{`(?m)^a`, `(?m)a$`, `(`, `[^\x00-\x{10FFFF}]`} {
		if got, ok := portable(expr); ok {
			t.Errorf("%s became %s", expr, got)
		}
	}
}
