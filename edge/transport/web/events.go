package web

import (
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Events is an open response of Server-Sent Events. Each write returns when the bytes left the process
// or the write timeout passed, whatever comes first; after an error the stream is dead. Whoever opened
// it calls Close. Not safe for concurrent use.
type Events struct {
	w       http.ResponseWriter
	door    *Door
	control *http.ResponseController
	held    *[]byte // from the pool; nil: nothing
}

// buffers are what streams hold events in until they are written: an idle stream has none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}

// buffer is what is held.
func (e *Events) buffer() *[]byte {
	if e.held == nil {
		e.held = buffers.Get().(*[]byte)
	}
	return e.held
}

// release writes what is held.
func (e *Events) release() error {
	b := e.held
	e.held = nil
	_, err := e.w.Write(*b)
	if cap(*b) <= keepBuffer {
		*b = (*b)[:0]
		buffers.Put(b)
	}
	return err
}

// Events begins a stream. The headers leave at once, so that proxies and clients see it.
func (d *Door) Events(w http.ResponseWriter) (*Events, error) {
	d.Deadline(w)
	e := d.Answering(w)
	return e, e.flush()
}

// Answering begins a stream whose headers leave with what is written first.
func (d *Door) Answering(w http.ResponseWriter) *Events {
	h := w.Header()
	h.Set("Content-Type", TypeEvents)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &Events{w: w, door: d, control: http.NewResponseController(w)}
}

// Send writes one event, behind those that are held.
func (e *Events) Send(ev frame.Event) error {
	e.add(ev)
	return e.write()
}

// Hold is Send for an event after which another is sent, or the stream closed, at once: it leaves with
// that, or when much is held. Many small events so cost one write.
func (e *Events) Hold(ev frame.Event) error {
	e.add(ev)
	if len(*e.held) < maxHeld {
		return nil
	}
	return e.write()
}

func (e *Events) add(ev frame.Event) {
	b := e.buffer()
	*b = frame.AppendEvent(*b, ev)
}

// Comment writes what clients ignore and proxies take for a sign of life.
func (e *Events) Comment() error {
	b := e.buffer()
	*b = frame.AppendComment(*b, "")
	return e.write()
}

const (
	// keepBuffer is the largest buffer that is used again.
	keepBuffer = 64 << 10
	// maxHeld is how many bytes leave without waiting for the event that follows: the write timeout is
	// for a piece that a slow client can take.
	maxHeld = 32 << 10
)

func (e *Events) write() error {
	e.door.Deadline(e.w)
	err := e.release()
	if err == nil {
		err = e.flush()
	}
	if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
		e.door.o.Telemetry.Hit(telemetry.BoundWriteTimeout)
	}
	return err
}

// flush lifts the deadline once the bytes are out: HTTP/2 ends a stream whose deadline passes, even
// when nothing is being written.
func (e *Events) flush() error {
	if err := e.control.Flush(); err != nil {
		return err
	}
	_ = e.control.SetWriteDeadline(time.Time{})
	return nil
}

// Close ends the stream: what the server still writes for it is bounded too, and what is held leaves with
// the end. Nothing may be written any more. The caller's handler returns next.
func (e *Events) Close() {
	e.door.Deadline(e.w)
	if e.held != nil {
		_ = e.release()
	}
}
