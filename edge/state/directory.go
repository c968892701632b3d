package state

import "time"

// SessionInfo is a session as it was read, with what the medium knows in addition to its record.
type SessionInfo struct {
	*Session
	// OpenCalls is the number of calls that are not done, including those that wait for an answer.
	OpenCalls int
	// Expires is when the session ends without further use; later while its calls or streams keep
	// it.
	Expires time.Time
	// Requests are the client's request ids of the calls that are not done, each once and in no
	// particular order. A medium sets them only if the session was loaded with use.
	Requests []string
}
