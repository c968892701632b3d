package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"time"
)

// Listener is a client's request for a stream that may be idle for hours. Over HTTP/1.1 its
// connection is taken from the server: until a handler returns, net/http keeps two goroutines, one
// of them with a deep stack, and 10 KB of buffers, which is more than the rest of an idle session
// takes. It is not safe for concurrent use.
type Listener struct {
	guard *Guard
	// w is nil once the stream is open.
	w http.ResponseWriter
	// ctx is the context of the exchange over HTTP/1.1, which outlives the request's.
	ctx    context.Context
	cancel context.CancelFunc
	// unlink detaches ctx from the request's context.
	unlink func() bool
	// returned is closed when the handler may return; nil while the server owns the stream.
	returned chan struct{}
	// body is the stream whose connection was taken from the server. nil means that none was.
	body     *detached
	panicked any // with its stack
	log      *log.Logger
}

// Listen serves a request for a stream with fn, which may open the stream by its listener, and has
// finished when it returns. Its context ends with the client's connection; over HTTP/1.1 it has no
// values. Listen returns when fn does or, if the connection is taken from the server, before: fn
// then runs in a goroutine that Wait waits for.
func (g *Guard) Listen(w http.ResponseWriter, r *http.Request, fn func(context.Context, *Listener)) {
	l := &Listener{guard: g, w: w, log: log.Default()}
	if r.ProtoMajor != 1 || r.ProtoMinor != 1 {
		fn(r.Context(), l)
		return
	}
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ErrorLog != nil {
		l.log = s.ErrorLog
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.unlink = context.AfterFunc(r.Context(), l.cancel)
	l.returned = make(chan struct{})
	g.listening.Go(func() { l.run(fn) })
	<-l.returned
	if l.panicked != nil {
		panic(l.panicked) // as if it had happened here
	}
}

// Wait returns when all streams that were taken from their server are closed, or with the error of
// ctx. Call it when no handler runs any more.
func (g *Guard) Wait(ctx context.Context) error {
	none := make(chan struct{})
	go func() {
		g.listening.Wait()
		close(none)
	}()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Listener) run(fn func(context.Context, *Listener)) {
	defer l.end()
	fn(l.ctx, l)
}

// end lets the handler return, if it has not, closes a connection whose stream was not ended, and
// limits a panic to this stream.
func (l *Listener) end() {
	p := recover()
	l.cancel()
	if l.body == nil {
		l.unlink()
		if p != nil {
			l.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
		close(l.returned)
		return
	}
	if !l.body.ended {
		_ = l.body.conn.Close()
	}
	if p != nil {
		l.log.Printf("a stream panicked: %v\n%s", p, debug.Stack())
	}
}

// Events begins the stream, once. It sends the headers, so that proxies and clients see them.
func (l *Listener) Events() (*Events, error) {
	w := l.w
	l.w = nil
	if l.returned == nil {
		return l.guard.Events(w)
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return l.guard.Events(w) // a wrapper of the response keeps the connection
	}
	l.unlink()
	l.unlink = nil
	l.body = &detached{conn: conn, timeout: l.guard.o.WriteTimeout, watched: make(chan struct{})}
	h := w.Header()
	close(l.returned)
	go l.body.watch(l.cancel)
	return &Events{body: l.body, guard: l.guard}, l.body.head(h)
}

// detached is the body of a response over HTTP/1.1 whose connection was taken from the server; the
// connection is closed with the response.
type detached struct {
	conn    net.Conn
	timeout time.Duration
	// broken is true if a write has failed, ended if writing has ended.
	broken, ended bool
	// watched is closed when watch has returned; nil once that is known.
	watched chan struct{}
	// unread is a buffer for data of the client, which is ignored.
	unread [16]byte
}

// linger is the time in which a client must close its side of a connection whose response has
// ended. If the edge closed the connection with unread bytes of the client, TCP would reset it, and
// the end of the response might be lost.
const linger = time.Second

// chunkHead is the head of a chunk, with room for its size (RFC 9112, section 7.1).
const chunkHead = "00000000\r\n"

func (s *detached) begin(b []byte) []byte { return append(b, chunkHead...) }

func (s *detached) write(b []byte) error { return s.send(completeChunk(b)) }

func (s *detached) end(b []byte) {
	s.stopWatch()
	s.ended = true
	if b != nil {
		b = completeChunk(b)
	}
	half, ok := s.conn.(interface{ CloseWrite() error })
	if s.broken || s.send(append(b, "0\r\n\r\n"...)) != nil || !ok || half.CloseWrite() != nil {
		_ = s.conn.Close()
		return
	}
	_ = s.conn.SetReadDeadline(time.Now().Add(linger))
	go func() {
		_ = s.gone()
		_ = s.conn.Close()
	}()
}

// completeChunk completes a chunk. It returns nil for an empty one, which would end the response.
func completeChunk(b []byte) []byte {
	const digits = "0123456789abcdef"
	if len(b) == len(chunkHead) {
		return nil
	}
	for i, n := 7, len(b)-len(chunkHead); n > 0; i, n = i-1, n>>4 {
		b[i] = digits[n&15]
	}
	return append(b, "\r\n"...)
}

// head writes the status and the headers.
func (s *detached) head(h http.Header) error {
	describe(h)
	h.Set("Transfer-Encoding", "chunked")
	h.Set("Connection", "close")
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	b := bytes.NewBufferString("HTTP/1.1 200 OK\r\n")
	_ = h.Write(b)
	b.WriteString("\r\n")
	return s.send(b.Bytes())
}

func (s *detached) send(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.timeout))
	_, err := s.conn.Write(b)
	s.broken = err != nil
	_ = s.conn.SetWriteDeadline(time.Time{})
	return err
}

// watch ends the exchange when the client closes the connection, and then closes it, unless it is
// stopped.
func (s *detached) watch(gone context.CancelFunc) {
	defer close(s.watched)
	if isTimeout(s.gone()) {
		return
	}
	gone()
	_ = s.conn.Close()
}

func (s *detached) stopWatch() {
	if s.watched != nil {
		_ = s.conn.SetReadDeadline(pastDeadline)
		<-s.watched
		s.watched = nil
	}
}

// gone returns when the client has left, or the read deadline has passed. Data of the client would
// be a request that this connection does not serve, as the response's head says.
func (s *detached) gone() error {
	for {
		if _, err := s.conn.Read(s.unread[:]); err != nil {
			return err
		}
	}
}

// pastDeadline is a deadline that interrupts reads.
var pastDeadline = time.Unix(1, 0)

func isTimeout(err error) bool {
	late := net.Error(nil)
	return errors.As(err, &late) && late.Timeout()
}
