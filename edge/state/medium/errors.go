package medium

import "fmt"

// RewoundError means that a write does not follow the medium's state, because the medium lost
// writes. Nothing was written. Restore restores the lost writes.
type RewoundError struct {
	// Epoch and N are the state that the medium has of the call instead. Zero means that it has
	// none.
	Epoch Epoch
	N     uint64
}

// Error implements error.
func (e *RewoundError) Error() string {
	return fmt.Sprintf("state: the medium lost writes: it has the call at epoch %d/%08x, step %d", e.Epoch.Counter(), e.Epoch.Random(), e.N)
}
