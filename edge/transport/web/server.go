package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/transport/accept"
)

// ServerOptions are the bounds of a Server. The zero value of a field selects its default.
type ServerOptions struct {
	// ReadTimeout bounds the reading of a whole request from its first byte. 0 means 30 s.
	ReadTimeout time.Duration
	// MaxAge bounds the age of a connection: a response on an older one closes it (HTTP/2's with a
	// GOAWAY), and its client reconnects, perhaps to another replica. Each connection's bound is
	// random, between half of MaxAge and MaxAge. 0 means no bound.
	MaxAge time.Duration
	// MaxHeader bounds a request's header, in bytes. 0 means 64 KiB.
	MaxHeader int
	// HTTP2Streams bounds the concurrent streams of an HTTP/2 connection. 0 disables HTTP/2.
	HTTP2Streams int
	// Proxies are the trusted proxies. nil means none.
	Proxies Proxies
	// MaxPerAddress bounds the concurrent requests, including streams, of one address that Proxies
	// name. 0 means no bound.
	MaxPerAddress int
	// Refused is called for each request beyond MaxPerAddress. It may be nil.
	Refused func()
	// TLS makes the listener speak TLS, with HTTP/2 unless HTTP2Streams is 0; it names the
	// protocols. nil disables TLS. A handshake is bounded like a request's header.
	TLS *tls.Config
	// ErrorLog logs errors of connections. nil uses the standard logger.
	ErrorLog *log.Logger
}

const (
	// headerTimeout bounds the reading of a request's header, unless ReadTimeout is shorter.
	headerTimeout = 10 * time.Second
	// idleTimeout is the time for which a connection is kept without a request.
	idleTimeout = 2 * time.Minute
	// pingAfter is the time for which an HTTP/2 connection may be silent before a PING is sent.
	// pingTimeout bounds the wait for its response.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
	// shutdownAgain is the interval at which connections are notified of a shutdown.
	shutdownAgain = time.Second
)

// Server is an HTTP server that bounds the reading of requests: each is read to its end within the
// read timeout, whether or not its handler reads the body, and a response that is written before
// the body was read is sent at once. Streams, and calls whose request was read, are not bounded.
type Server struct {
	http.Server
	next    http.Handler
	o       ServerOptions
	clients *clients // nil if not counted
	// readLimit bounds the reading of requests, as a duration from now in nanoseconds. 0 means
	// ReadTimeout.
	readLimit atomic.Int64
	// bodies are the HTTP/2 bodies that are being served, *http2Body.
	bodies   sync.Map
	listener atomic.Pointer[accept.Listener]
}

// NewServer makes a server.
func NewServer(next http.Handler, o ServerOptions) *Server {
	o.ReadTimeout = cmp.Or(o.ReadTimeout, defaultReadTimeout)
	o.MaxHeader = cmp.Or(o.MaxHeader, 64<<10)
	s := &Server{next: next, o: o}
	if len(o.Proxies) > 0 && o.MaxPerAddress > 0 {
		s.clients = newClients(o.MaxPerAddress)
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(o.TLS == nil && o.HTTP2Streams > 0)
	protocols.SetHTTP2(o.TLS != nil && o.HTTP2Streams > 0)
	s.Server = http.Server{
		Handler: http.HandlerFunc(s.serve), Protocols: protocols, TLSConfig: o.TLS, ErrorLog: o.ErrorLog,
		ReadTimeout: o.ReadTimeout, ReadHeaderTimeout: min(headerTimeout, o.ReadTimeout), IdleTimeout: idleTimeout,
		MaxHeaderBytes: o.MaxHeader,
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: o.HTTP2Streams, SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		ConnState:      follow, ConnContext: s.withConn,
	}
	return s
}

// Serve accepts connections until the server is shut down, and returns why it stopped.
func (s *Server) Serve(l *accept.Listener) error {
	s.listener.Store(l)
	if d := s.readLimit.Load(); d > 0 {
		l.LimitReads(time.Duration(d)) // it was set before the listener was known
	}
	if s.o.TLS != nil {
		return s.ServeTLS(l, "", "")
	}
	return s.Server.Serve(l)
}

// Shutdown repeats http.Server.Shutdown every shutdownAgain: each time it notifies the HTTP/2
// connections that it knows by then. A single call would wait until ctx ends for a connection that
// became known later, with or without streams.
func (s *Server) Shutdown(ctx context.Context) error {
	for {
		some, cancel := context.WithTimeout(ctx, shutdownAgain)
		err := s.Server.Shutdown(some)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// LimitReads bounds to d, from now or from its beginning, the reading of every request that has not
// been read to its end. Use it before a shutdown.
func (s *Server) LimitReads(d time.Duration) {
	s.readLimit.Store(int64(d))
	if l := s.listener.Load(); l != nil {
		l.LimitReads(d)
	}
	s.bodies.Range(func(b, _ any) bool {
		b.(*http2Body).limitRead(d)
		return true
	})
}

// follow passes the states of a connection, as its server sees them, to the connection.
func follow(c net.Conn, state http.ConnState) {
	conn := accepted(c)
	if conn == nil {
		return
	}
	switch state {
	case http.StateActive, http.StateIdle:
		conn.Idle(state == http.StateIdle)
	case http.StateHijacked:
		conn.Detach()
	}
}

// accepted returns the connection that a server was given, also below TLS; nil if it is not from an
// accept.Listener.
func accepted(c net.Conn) *accept.Conn {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	conn, _ := c.(*accept.Conn)
	return conn
}

type connKey struct{}

type oldKey struct{}

// withConn adds a request's connection to its context, and when that reaches its maximum age.
func (s *Server) withConn(ctx context.Context, c net.Conn) context.Context {
	if age := s.o.MaxAge; age > 0 {
		spread := rand.N(age/2 + 1) // #nosec G404 -- that connections do not all close at once is no secret
		ctx = context.WithValue(ctx, oldKey{}, time.Now().Add(age-spread))
	}
	if conn := accepted(c); conn != nil && s.clients != nil {
		return context.WithValue(ctx, connKey{}, conn)
	}
	return ctx
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if s.clients != nil && s.o.Proxies.peer(r) {
		s.forwarded(w, r)
		return
	}
	s.read(w, r)
}

// read serves a request. Until its body is read, the response is marked to be sent without waiting
// for the body; over HTTP/2 the body has its own deadline.
func (s *Server) read(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.ContentLength == 0:
	case r.ProtoMajor == 1:
		w.Header()["Connection"] = unread
	default:
		defer s.watch(w)()
	}
	if old, ok := r.Context().Value(oldKey{}).(time.Time); ok && time.Now().After(old) {
		w.Header().Set("Connection", "close")
	}
	s.next.ServeHTTP(w, r)
}

// unread is the Connection header of responses over HTTP/1 to requests whose body was not read;
// WasRead recognizes it by its address. Without it net/http would read the rest of the body before
// it writes the response, in order to reuse the connection.
var unread = []string{"close"}

// WasRead reports that a request's body was read to its end, so that its connection may be kept.
func WasRead(w http.ResponseWriter) {
	h := w.Header()
	if v := h["Connection"]; len(v) == 1 && &v[0] == &unread[0] {
		delete(h, "Connection")
	}
}

// http2Body is the body of a request over HTTP/2, which has its own read deadline instead of its
// connection's.
type http2Body struct {
	control *http.ResponseController
	// until is when it must have been read.
	until time.Time

	mu    sync.Mutex
	ended bool
}

// watch applies the limit of LimitReads to a body until the returned function is called.
func (s *Server) watch(w http.ResponseWriter) (end func()) {
	b := &http2Body{control: http.NewResponseController(w), until: time.Now().Add(s.o.ReadTimeout)}
	s.bodies.Store(b, nil)
	if d := s.readLimit.Load(); d > 0 {
		b.limitRead(time.Duration(d))
	}
	return func() {
		s.bodies.Delete(b)
		b.mu.Lock()
		b.ended = true
		b.mu.Unlock()
	}
}

func (b *http2Body) limitRead(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if until := time.Now().Add(d); !b.ended && until.Before(b.until) {
		b.until = until
		_ = b.control.SetReadDeadline(until)
	}
}
