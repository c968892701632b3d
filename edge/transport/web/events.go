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
	body  body
	guard *Guard
	held  *[]byte // from the pool; nil: nothing
}

// body is where a response's bytes go.
type body interface {
	// begin appends to an empty buffer what a write begins with.
	begin(b []byte) []byte
	// write sends what a buffer holds, which it may change. It is bounded by the write timeout.
	write(b []byte) error
	// end ends the response, with what a buffer holds; nil: with nothing more.
	end(b []byte)
}

// buffers are what streams hold events in until they are written: an idle stream has none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}

// buffer is what is held.
func (e *Events) buffer() *[]byte {
	if e.held == nil {
		e.held = buffers.Get().(*[]byte)
		*e.held = e.body.begin(*e.held)
	}
	return e.held
}

// release gives the buffer back when what it holds has been written.
func (e *Events) release() {
	b := e.held
	e.held = nil
	if cap(*b) <= keepBuffer {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// Events begins a stream. The headers leave at once, so that proxies and clients see it.
func (g *Guard) Events(w http.ResponseWriter) (*Events, error) {
	g.Deadline(w)
	r := g.stream(w)
	return &Events{body: r, guard: g}, r.flush()
}

// Answering begins a stream whose headers leave with what is written first.
func (g *Guard) Answering(w http.ResponseWriter) *Events {
	return &Events{body: g.stream(w), guard: g}
}

func (g *Guard) stream(w http.ResponseWriter) *response {
	describe(w.Header())
	w.WriteHeader(http.StatusOK)
	return &response{w: w, control: http.NewResponseController(w), guard: g}
}

// describe says what a response of events is.
func describe(h http.Header) {
	h.Set("Content-Type", TypeEvents)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
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
	err := e.body.write(*e.held)
	e.release()
	if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
		e.guard.o.Telemetry.Hit(telemetry.BoundWriteTimeout)
	}
	return err
}

// Close ends the stream: what the server still writes for it is bounded too, and what is held leaves with
// the end. Nothing may be written any more. The caller's handler returns next.
func (e *Events) Close() {
	if e.held == nil {
		e.body.end(nil)
		return
	}
	e.body.end(*e.held)
	e.release()
}

// response is the body of a response that the server writes.
type response struct {
	w       http.ResponseWriter
	control *http.ResponseController
	guard   *Guard
	// broken: a write failed. The deadline that passed stays, so that what the server still writes fails at once.
	broken bool
}

func (r *response) begin(b []byte) []byte { return b }

func (r *response) write(b []byte) error {
	r.guard.Deadline(r.w)
	_, err := r.w.Write(b)
	if err == nil {
		err = r.flush()
	}
	r.broken = err != nil
	return err
}

// flush lifts the deadline once the bytes are out: HTTP/2 ends a stream whose deadline passes, even
// when nothing is being written.
func (r *response) flush() error {
	if err := r.control.Flush(); err != nil {
		return err
	}
	_ = r.control.SetWriteDeadline(time.Time{})
	return nil
}

func (r *response) end(b []byte) {
	if r.broken {
		return
	}
	r.guard.Deadline(r.w)
	if b != nil {
		_, _ = r.w.Write(b)
	}
}
