package grpcconn

import (
	"sync"
	"time"
)

// logInterval is the shortest interval between log lines about failures: a server that fails
// occasionally would otherwise cause one for each request.
const logInterval = time.Minute

// Outage decides which failures of a server are logged: the first one after an answer, at most one in
// a minute, and the first answer after a failure that was logged. The zero value is a server that has
// not failed. Safe for concurrent use.
type Outage struct {
	mu sync.Mutex
	// failing is true if a failure was logged, and no recovery since.
	failing bool
	// logged is when a failure was logged last; zero means never.
	logged time.Time
}

// Failed records a failure, and reports whether to log it.
func (o *Outage) Failed() (log bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failing || !o.logged.IsZero() && time.Since(o.logged) < logInterval {
		return false
	}
	o.failing, o.logged = true, time.Now()
	return true
}

// Answered records an answer, and reports whether to log that the server can be used again.
func (o *Outage) Answered() (log bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	log, o.failing = o.failing, false
	return log
}
