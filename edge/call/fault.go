package call

import (
	"errors"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Fault is the reason why the store did not acknowledge a step.
type Fault uint8

// The faults.
const (
	// NoFault means that the store acknowledged the step.
	NoFault Fault = iota
	// Unavailable means that it is unknown whether the step was stored.
	Unavailable
	// Rewound means that the store lacks the previous step: it lost writes.
	Rewound
	// Fenced means that the call has another owner or has ended.
	Fenced
	// Gone means that the session does not exist.
	Gone
	// TooLarge, NoRoom and IDTaken reject the content of the step: nothing was written.
	TooLarge
	NoRoom
	IDTaken
)

// FaultOf classifies an error of a medium.
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
