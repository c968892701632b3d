package catalog

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/revision"
)

// listOf returns a list of entries that are rendered as their keys, but for those that fail.
func listOf(keys []string, fails map[string]bool) *list {
	out := newList(listTools, &reporter{log: slog.New(slog.DiscardHandler)})
	for _, key := range keys {
		out.Entries = append(out.Entries, &entry{key: key, render: func(dst []byte, _ *revision.Rules) ([]byte, error) {
			if fails[key] {
				return dst, errors.New("it fails")
			}
			return append(dst, key...), nil
		}})
	}
	return out
}

// The pages of a subset of a list equal those of a list of the same entries, also where other entries come first, and those of its own
// subsets.
func TestPagesOfAPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fails := map[string]bool{}
		keys := func(prefix string, most int) (out []string) {
			for i := range rapid.IntRange(0, most).Draw(t, prefix) {
				key := fmt.Sprint(prefix, i, strings.Repeat("x", rapid.IntRange(0, 9).Draw(t, "length")))
				fails[key] = rapid.IntRange(0, 5).Draw(t, "fails") == 0
				out = append(out, key)
			}
			return out
		}
		all, own := keys("m", 12), keys("own", 3)
		whole, got := listOf(all, fails), listOf(own, fails)
		some := own[:len(own):len(own)]
		got.own, got.whole = listOf(own, fails), whole
		for i, key := range all {
			if rapid.Bool().Draw(t, "is in it") {
				some, got.numbers = append(some, key), append(got.numbers, i)
				got.Entries = append(got.Entries, whole.Entries[i])
			}
		}
		compare(t, listOf(some, fails), got)
		var seen []string
		part := got.subset(func(i int) bool {
			if !rapid.Bool().Draw(t, "is seen") {
				return false
			}
			seen = append(seen, some[i])
			return true
		})
		compare(t, listOf(seen, fails), part)
	})
}

// compare compares the pages of two lists.
func compare(t *rapid.T, want, got *list) {
	wanted, part := want.under(revision.Stateless()), got.under(revision.Stateless())
	size, bytes := rapid.IntRange(1, 5).Draw(t, "page size"), rapid.IntRange(1, 30).Draw(t, "page bytes")
	for start := 0; start >= 0; {
		a, next := wanted.page(start, size, bytes)
		b, last := part.page(start, size, bytes)
		if string(a) != string(b) || next != last {
			t.Fatalf("from %d on: %q to %d, want %q to %d", start, b, last, a, next)
		}
		if start = next; next >= 0 {
			start++
		}
	}
}
