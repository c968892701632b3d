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

// Events is an open response of Server-Sent Events. Each write returns when the bytes have left the
// process or the write timeout has passed. After an error the stream is broken. Its opener calls
// Close. It is not safe for concurrent use.
type Events struct {
	body  body
	guard *Guard
	held  *[]byte // from the pool; may be nil
}

// body writes a response's bytes.
type body interface {
	// begin appends the beginning of a write to an empty buffer.
	begin(b []byte) []byte
	// write sends the content of a buffer, which it may change. The write timeout bounds it.
	write(b []byte) error
	// end ends the response, with the content of a buffer, which may be nil.
	end(b []byte)
}

// buffers has the buffers that hold events until they are written; an idle stream has none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}

// buffer returns the buffer of held events.
func (e *Events) buffer() *[]byte {
	if e.held == nil {
		e.held = buffers.Get().(*[]byte)
		*e.held = e.body.begin(*e.held)
	}
	return e.held
}

// release returns the buffer to the pool after its content was written.
func (e *Events) release() {
	b := e.held
	e.held = nil
	if cap(*b) <= keepBuffer {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// Events begins a stream. It sends the headers at once, so that proxies and clients see them.
func (g *Guard) Events(w http.ResponseWriter) (*Events, error) {
	g.Deadline(w)
	r := g.stream(w)
	return &Events{body: r, guard: g}, r.flush()
}

// Answering begins a stream whose headers are sent with the first write.
func (g *Guard) Answering(w http.ResponseWriter) *Events {
	return &Events{body: g.stream(w), guard: g}
}

func (g *Guard) stream(w http.ResponseWriter) *response {
	describe(w.Header())
	w.WriteHeader(http.StatusOK)
	return &response{w: w, control: http.NewResponseController(w), guard: g}
}

// describe sets the headers of an event stream.
func describe(h http.Header) {
	h.Set("Content-Type", TypeEvents)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
}

// Send writes one event, after the held ones.
func (e *Events) Send(ev frame.Event) error {
	e.add(ev)
	return e.write()
}

// Hold is Send for an event that is followed at once by another or by the end of the stream: it is
// written with that, or when much is held. So many small events need one write.
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

// Comment writes a comment, which clients ignore and which keeps proxies from closing the stream.
func (e *Events) Comment() error {
	b := e.buffer()
	*b = frame.AppendComment(*b, "")
	return e.write()
}

const (
	// keepBuffer is the largest buffer that is reused.
	keepBuffer = 64 << 10
	// maxHeld is the number of held bytes from which they are written at once: the write timeout
	// assumes a piece that a slow client can read.
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

// Close ends the stream and writes the held events; the write timeout also bounds what the server
// still writes for it. Nothing may be written afterwards. The caller's handler must return next.
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
	// broken is true if a write failed. The passed deadline stays set, so that further writes of the
	// server fail at once.
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

// flush removes the deadline after the bytes were sent: HTTP/2 ends a stream whose deadline passes,
// even if nothing is being written.
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
