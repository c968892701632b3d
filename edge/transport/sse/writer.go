package sse

import (
	"errors"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// errEnded means that the connection has ended and nothing more can be written.
var errEnded = errors.New("the connection has ended")

// writer is the only writer of a connection's stream. The write timeout bounds each write, and the
// first failure is final: a waiting caller waits for one timeout at most. It is safe for concurrent
// use.
type writer struct {
	// broken is called once, after a failed write.
	broken func()

	mu      sync.Mutex
	events  *web.Events
	err     error
	wroteAt time.Time // when something was last written
}

// open sets the writer's stream. Call it before the other methods.
func (w *writer) open(events *web.Events) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events, w.wroteAt = events, time.Now()
}

// endpoint writes the first event.
func (w *writer) endpoint(uri string) error {
	return w.write(func() error { return w.events.Send(frame.Event{Name: "endpoint", Data: []byte(uri)}) })
}

// message writes one JSON-RPC message.
func (w *writer) message(data []byte) error {
	return w.write(func() error { return w.events.Send(frame.Event{Name: "message", Data: data}) })
}

// keepAlive writes a comment if nothing was written during silence, and returns when to call it
// again.
func (w *writer) keepAlive(silence time.Duration) (next time.Duration, err error) {
	w.mu.Lock()
	next = silence - time.Since(w.wroteAt)
	w.mu.Unlock()
	if next > 0 {
		return next, nil
	}
	return silence, w.write(func() error { return w.events.Comment() })
}

func (w *writer) write(fn func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.events == nil {
		return errEnded
	}
	if w.err = fn(); w.err != nil {
		w.broken()
		return w.err
	}
	w.wroteAt = time.Now()
	return nil
}

// state returns nil while writes may succeed.
func (w *writer) state() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// close stops all writes: the response belongs to its handler again.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = errEnded
	}
}
