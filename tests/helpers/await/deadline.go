package await

import (
	"context"
	"sync"
	"time"
)

// Deadline returns a context whose deadline passes when pass is called, so that a test may take any
// time before. Its Deadline method reports a time Patience away. pass may be called repeatedly,
// from any goroutine.
func Deadline(parent context.Context) (ctx context.Context, pass func()) {
	d := &deadline{Context: parent, at: time.Now().Add(Patience), done: make(chan struct{})}
	return d, sync.OnceFunc(func() { close(d.done) })
}

// deadline is a context that ends with context.DeadlineExceeded when done is closed.
type deadline struct {
	context.Context
	at   time.Time
	done chan struct{}
}

func (d *deadline) Deadline() (time.Time, bool) { return d.at, true }
func (d *deadline) Done() <-chan struct{}       { return d.done }

func (d *deadline) Err() error {
	select {
	case <-d.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
