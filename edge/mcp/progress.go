package mcp

// ProgressTracker tracks the progress that a client got for one request, over all rounds and attempts. Each
// value must exceed the last one (Utilities, "Progress"). The zero value means that none was sent.
// It is not safe for concurrent use.
type ProgressTracker struct {
	// Highest is the last value that was sent, if Sent is true.
	Highest float64 `json:"h"`
	Sent    bool    `json:"t"`
}

// Advance reports whether a value may be sent, and records it.
func (r *ProgressTracker) Advance(value float64) bool {
	if r.Sent && value <= r.Highest {
		return false
	}
	r.Highest, r.Sent = value, true
	return true
}
