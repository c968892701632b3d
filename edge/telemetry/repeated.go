package telemetry

import (
	"strings"
	"sync"
	"time"
)

const (
	// repeatAfter is the shortest interval between two lines with the same reason.
	repeatAfter = time.Minute
	// maxReasons bounds the reasons that a Repeated distinguishes.
	maxReasons = 16
)

// Repeated decides which failures of something that is tried again and again are logged: the first
// of each reason, and then one a minute. Reasons that differ only in digits, as in the port of a
// connection, are the same. The zero value has no failure. It is safe for concurrent use.
type Repeated struct {
	mu sync.Mutex
	// logged is when each reason was logged last. nil means that nothing has failed.
	logged map[string]time.Time
}

// Failed reports whether a failure at the time now is to be logged.
func (f *Repeated) Failed(err error, now time.Time) bool {
	reason := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, err.Error())
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, known := f.logged[reason]; known && now.Sub(last) < repeatAfter {
		return false
	}
	if f.logged == nil || len(f.logged) >= maxReasons {
		f.logged = map[string]time.Time{}
	}
	f.logged[reason] = now
	return true
}

// Ended reports whether something had failed before, and forgets it.
func (f *Repeated) Ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	failed := f.logged != nil
	f.logged = nil
	return failed
}
