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
	all := kindRange(protoreflect.Int64Kind)
	rapid.Check(t, func(t *rapid.T) {
		lo, hi := near(t, "low"), near(t, "high")
		set := integers{all}.within(big.NewInt(lo), big.NewInt(hi))
		if out := rapid.Int64Range(-3, 3).Draw(t, "out"); rapid.Bool().Draw(t, "gap") {
			set = set.without([]*big.Int{big.NewInt(lo + out%2)})
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
