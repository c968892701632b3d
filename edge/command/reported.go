package command

// Reported is an error that was already logged, so that main does not print it again.
type Reported struct{ Err error }

// Error implements error.
func (r *Reported) Error() string { return r.Err.Error() }

// Unwrap returns the error that was logged.
func (r *Reported) Unwrap() error { return r.Err }

// Exit is an error with the exit status of the process. Other errors exit with 1.
type Exit struct {
	Status int
	Err    error
}

// Error implements error.
func (e *Exit) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *Exit) Unwrap() error { return e.Err }
