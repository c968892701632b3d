package medium

import "fmt"

// RewoundError says that a write does not follow what the medium has: it lost writes. Nothing was written. Restore gives back
// what was lost.
type RewoundError struct {
	// Epoch and N are what the medium has of the call instead; zero: nothing at all.
	Epoch Epoch
	N     uint64
}

// Error implements error.
func (e *RewoundError) Error() string {
	return fmt.Sprintf("state: the medium lost writes: it has the call at epoch %d/%08x, step %d", e.Epoch.Counter(), e.Epoch.Random(), e.N)
}
