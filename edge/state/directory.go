package state

import "time"

// Sighting is a session as read without using it.
type Sighting struct {
	*Session
	// OpenCalls is the number of calls that are not done, including those that wait for an answer.
	OpenCalls int
	// Expires is when the session ends without further use; later while its calls or streams keep
	// it.
	Expires time.Time
}
