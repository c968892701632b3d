package check

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Backends that take their time are looked at side by side, within the bound, and reported in their order as soon as may be.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2*atOnce + 1
		var now, most atomic.Int64
		var order, when []int
		began := time.Now()
		each(n, func(i int) {
			if is := now.Add(1); is > most.Load() {
				most.Store(is)
			}
			time.Sleep(10 * time.Second) // of the bubble's clock
			now.Add(-1)
		}, func(i int) {
			order, when = append(order, i), append(when, int(time.Since(began)/(10*time.Second)))
		})
		if took := time.Since(began); took != 30*time.Second || most.Load() != atOnce {
			t.Errorf("%v, %d at a time", took, most.Load())
		}
		if !slices.IsSorted(order) || len(order) != n || !slices.IsSorted(when) {
			t.Errorf("reported in the order %v, at %v", order, when)
		}
	})
}
