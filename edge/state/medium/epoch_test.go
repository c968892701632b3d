package medium

import (
	"math"
	"testing"
)

// Epochs rise, whatever is drawn, never leave what a double can hold, and those of releases before are the earliest.
func TestNextEpoch(t *testing.T) {
	for _, drawn := range []uint32{0, 1, math.MaxUint32} {
		for _, before := range []Epoch{1, 40, Epoch(1).Next(math.MaxUint32)} {
			next := before.Next(drawn)
			if next <= before || next.Counter() != before.Counter()+1 || next.Random() != drawn {
				t.Errorf("behind %d comes %d, counter %d", before, next, next.Counter())
			}
		}
		for _, before := range []Epoch{1<<52 - 1, 1<<52 - 1<<32, 1 << 53} { // the counter is at its end
			if last := before.Next(drawn); last.Counter() != MaxCounter || uint64(float64(last)) != uint64(last) {
				t.Errorf("behind %d comes %d, counter %d", before, last, last.Counter())
			}
		}
	}
}
