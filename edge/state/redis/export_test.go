package redis

import (
	"strconv"
	"time"
)

// SealSize is what a seal adds to a value.
const SealSize = sealSize

// Digest is the digest of a script of this package, by the name of its file.
func Digest(name string) string {
	for _, s := range scripts {
		if s.name == name {
			return s.Hash()
		}
	}
	panic("no script " + name)
}

// Forget is what a replica does when Redis may have lost writes.
func (r *Replica) Forget() { r.forget() }

// Renewed is how many sessions are kept of those whose use was counted, one a second for so many seconds.
func Renewed(every time.Duration, seconds int) int {
	var u renewals
	u.init(every)
	for i := range seconds {
		u.recordUse(strconv.Itoa(i))
		time.Sleep(time.Second)
	}
	return len(u.due)
}

// ErrResting is the error while a breaker is open.
var ErrResting = errBreakerOpen
