package call

import (
	"errors"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Fault is why the store did not acknowledge a step.
type Fault uint8

// The faults.
const (
	// NoFault: it did.
	NoFault Fault = iota
	// Unavailable: it is not known whether the step happened.
	Unavailable
	// Rewound: the store has not what the step follows: it lost writes.
	Rewound
	// Fenced: the call has another owner, or has ended.
	Fenced
	// Gone: the session is not there.
	Gone
	// TooLarge, NoRoom and IDTaken refuse what the step says: nothing was written.
	TooLarge
	NoRoom
	IDTaken
)

// FaultOf is what an error of a medium means.
func FaultOf(err error) Fault {
	var rewound *medium.RewoundError
	switch {
	case err == nil:
		return NoFault
	case errors.As(err, &rewound):
		return Rewound
	case errors.Is(err, state.ErrFenced):
		return Fenced
	case errors.Is(err, state.ErrNotFound):
		return Gone
	case errors.Is(err, state.ErrTooLarge):
		return TooLarge
	case errors.Is(err, state.ErrLimit):
		return NoRoom
	case errors.Is(err, state.ErrExists):
		return IDTaken
	}
	return Unavailable
}
