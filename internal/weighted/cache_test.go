package weighted

import (
	"testing"

	"pgregory.net/rapid"
)

// The number of entries and the weight of several entries stay within the limits, Weight is the
// total weight, and the most recently used entries stay.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries, most := rapid.IntRange(1, 5).Draw(t, "entries"), rapid.IntRange(0, 20).Draw(t, "weight")
		c := New[int, int](entries, most)
		weights := map[int]int{}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			key := rapid.IntRange(0, 8).Draw(t, "key")
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				c.Purge()
			case 1:
				if v, ok := c.Get(key); ok && v != weights[key] {
					t.Fatalf("%d is %d, want %d", key, v, weights[key])
				}
				continue
			default:
				w := rapid.IntRange(0, 15).Draw(t, "weight of it")
				weights[key] = w
				c.Add(key, w, w)
				if v, ok := c.Get(key); !ok || v != w {
					t.Fatalf("%d is not there after it was added", key)
				}
			}
			sum := 0
			for k := range 9 {
				if e, ok := c.entries.Peek(k); ok {
					sum += e.weight
				}
			}
			if c.Weight() != sum || c.Len() > entries || sum > most && c.Len() > 1 {
				t.Fatalf("%d entries of weight %d, counted %d; at most %d and %d", c.Len(), sum, c.Weight(), entries, most)
			}
		}
	})
}
