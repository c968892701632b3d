package catalog

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The pages of a subset of a list equal those of a list of the same entries.
func TestPagesOfAPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		render := func(keys []string, fails map[string]bool) *rendering {
			out := &rendering{}
			for i, key := range keys {
				if fails[key] {
					continue
				}
				if len(out.body) > 0 {
					out.body = append(out.body, ',')
				}
				from := len(out.body)
				out.body = append(out.body, key...)
				out.items = append(out.items, rendered{entry: i, from: from, to: len(out.body), end: len(out.body)})
			}
			return out
		}
		var all, some []string
		var numbers []int
		fails := map[string]bool{}
		for i := range rapid.IntRange(0, 12).Draw(t, "entries") {
			key := fmt.Sprint(i, strings.Repeat("x", rapid.IntRange(0, 9).Draw(t, "length")))
			all = append(all, key)
			fails[key] = rapid.IntRange(0, 5).Draw(t, "fails") == 0
			if rapid.Bool().Draw(t, "is in it") {
				some, numbers = append(some, key), append(numbers, i)
			}
		}
		want, got := render(some, fails), render(all, fails).part(numbers)
		size, bytes := rapid.IntRange(1, 5).Draw(t, "page size"), rapid.IntRange(1, 30).Draw(t, "page bytes")
		for start := 0; start >= 0; {
			a, next := want.page(start, size, bytes)
			b, last := got.page(start, size, bytes)
			if string(a) != string(b) || next != last {
				t.Fatalf("from %d on: %q to %d, want %q to %d", start, b, last, a, next)
			}
			if start = next; next >= 0 {
				start++
			}
		}
	})
}
