package mcp

// Rising is the progress that a client was told of one request, over all its rounds and attempts: each value it is
// told is above the one before (Utilities, "Progress"). The zero value: none was told. Not safe for concurrent use.
type Rising struct {
	// Highest is the last value that was told, once Told is true.
	Highest float64 `json:"h"`
	Told    bool    `json:"t"`
}

// Rises says whether a value may be told, and notes that it is.
func (r *Rising) Rises(value float64) bool {
	if r.Told && value <= r.Highest {
		return false
	}
	r.Highest, r.Told = value, true
	return true
}
