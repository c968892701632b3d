package mcp

// Confirmed is a confirmation that a call of a tool had when it ran.
type Confirmed struct {
	// Name is that of the setting, or BACKEND/TOOL for one that a service requires.
	Name string
	// How is ConfirmedByAnswer or ConfirmedBefore.
	How string
}

const (
	// ConfirmedByAnswer means that the user confirmed the call.
	ConfirmedByAnswer = "answered"
	// ConfirmedBefore means that an earlier answer of the user is remembered for the caller.
	ConfirmedBefore = "remembered"
)
