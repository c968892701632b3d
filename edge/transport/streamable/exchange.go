package streamable

import (
	"net/http"
	"strconv"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// exchange is the way back of one HTTP request.
type exchange struct {
	w        http.ResponseWriter
	opts     *Options
	accepted int // the status of Accept
}

var _ mcp.Outgoing = (*exchange)(nil)

// Session implements mcp.Outgoing.
func (x *exchange) Session(id string) { x.w.Header().Set(headerSession, id) }

// Respond implements mcp.Outgoing.
func (x *exchange) Respond(r mcp.Response) {
	status := Status(r.Modern, r.Kind)
	h := x.w.Header()
	h["Content-Type"] = jsonHeader
	h["Content-Length"] = []string{strconv.Itoa(len(r.Body))}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		h.Set("Retry-After", "1")
	}
	x.deadline()
	x.w.WriteHeader(status)
	_, _ = x.w.Write(r.Body)
}

// Accept implements mcp.Outgoing.
func (x *exchange) Accept() {
	x.deadline()
	x.w.WriteHeader(x.accepted)
}

// Open implements mcp.Outgoing. The headers leave at once, so that proxies and clients see the stream.
func (x *exchange) Open() (mcp.Stream, error) {
	h := x.w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	x.deadline()
	x.w.WriteHeader(http.StatusOK)
	s := &stream{x: x, control: http.NewResponseController(x.w)}
	return s, s.control.Flush()
}

// deadline bounds the write that follows. Every write sets it: on a kept connection the one before
// it may have passed long ago. A recorder in tests has none.
func (x *exchange) deadline() { setDeadline(x.w, x.opts) }

func setDeadline(w http.ResponseWriter, o *Options) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(o.WriteTimeout))
}

var jsonHeader = []string{typeJSON}

// stream is an open Server-Sent Events response.
type stream struct {
	x       *exchange
	control *http.ResponseController
	buf     []byte
}

var _ mcp.Stream = (*stream)(nil)

// Send implements mcp.Stream.
func (s *stream) Send(ev mcp.StreamEvent) error {
	s.buf = frame.AppendEvent(s.buf[:0], frame.Event{ID: ev.ID, Data: ev.Data, Retry: ev.Retry})
	return s.write()
}

// KeepAlive implements mcp.Stream with a comment line.
func (s *stream) KeepAlive() error {
	s.buf = frame.AppendComment(s.buf[:0], "")
	return s.write()
}

// keepBuffer is the largest buffer an idle stream may hold on to.
const keepBuffer = 4 << 10

func (s *stream) write() error {
	s.x.deadline()
	_, err := s.x.w.Write(s.buf)
	if cap(s.buf) > keepBuffer {
		s.buf = nil
	}
	if err != nil {
		return err
	}
	return s.control.Flush()
}

func bytesText(n int64) string {
	return strconv.FormatInt(n, 10) + " bytes"
}
