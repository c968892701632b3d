package auth

// fault decides which failures of periodic readings are logged: the first one, and each different
// one that two consecutive readings have. A file may be read while it is being written. The zero
// value has no failure. It is not safe for concurrent use.
type fault struct {
	// last is the failure of the last reading, logged the one that was logged last. Empty means
	// none.
	last, logged string
}

// note records the result of a reading. began means that err should be logged, ended that the
// logged failure is over.
func (f *fault) note(err error) (began, ended bool) {
	if err == nil {
		ended = f.logged != ""
		*f = fault{}
		return false, ended
	}
	text := err.Error()
	settled := text == f.last
	f.last = text
	if text == f.logged || f.logged != "" && !settled {
		return false, false
	}
	f.logged = text
	return true, false
}
