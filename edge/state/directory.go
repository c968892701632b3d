package state

import "time"

// Sighting is a session as somebody sees it who does not use it.
type Sighting struct {
	*Session
	// OpenCalls are the calls that are not done, those that wait for an answer included.
	OpenCalls int
	// Expires is when the session ends if nothing uses it before; later while its calls or streams keep it.
	Expires time.Time
}
