package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/transport/accept"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

// pipes is a listener of connections in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.conns <- proxied{theirs}
	return &hasty{Conn: ours}, nil
}

// hasty is a client's connection that does not await the end of TLS: in a bubble, time stands still while
// a goroutine waits for a mutex, which the client holds meanwhile.
type hasty struct {
	net.Conn
	closing atomic.Bool
}

// SetWriteDeadline is called by the client when it ends TLS, and else never.
func (h *hasty) SetWriteDeadline(t time.Time) error {
	h.closing.Store(!t.IsZero())
	return h.Conn.SetWriteDeadline(t)
}

func (h *hasty) Write(b []byte) (int, error) {
	if h.closing.Load() {
		return 0, net.ErrClosed
	}
	return h.Conn.Write(b)
}

// proxied is a connection from a proxy.
type proxied struct{ net.Conn }

func (proxied) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1} }

// inMemory serves a handler until the test ends, in a bubble.
func inMemory(t *testing.T, h http.HandlerFunc) (*pipes, *Server) {
	t.Helper()
	return inMemoryWith(t, h, ServerOptions{ReadTimeout: 30 * time.Second, HTTP2Streams: 100})
}

func inMemoryWith(t *testing.T, h http.HandlerFunc, o ServerOptions) (*pipes, *Server) {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := NewServer(h, o)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(accept.NewListener(p, accept.Options{WriteTimeout: 10 * time.Second}))
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-ended
		time.Sleep(time.Second) // what is about to end by itself has
	})
	return p, s
}

// each runs a test over HTTP/1.1 and HTTP/2, with TLS and without, in virtual time.
func each(t *testing.T, h http.HandlerFunc, test func(t *testing.T, c *http.Client, s *Server)) {
	eachWith(t, h, ServerOptions{ReadTimeout: 30 * time.Second, HTTP2Streams: 100}, test)
}

func eachWith(t *testing.T, h http.HandlerFunc, o ServerOptions, test func(t *testing.T, c *http.Client, s *Server)) {
	pair := authority.New(t, "ca").Server(t).TLS(t)
	for _, secure := range []bool{false, true} {
		for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
			t.Run(fmt.Sprintf("%s/TLS=%t", name, secure), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					protocols := &http.Protocols{}
					protocols.SetHTTP1(!http2)
					protocols.SetHTTP2(http2 && secure)
					protocols.SetUnencryptedHTTP2(http2 && !secure)
					transport := &http.Transport{Protocols: protocols}
					o := o
					if secure {
						o.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
						// It is valid in a time that is not the bubble's.
						transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
					}
					p, s := inMemoryWith(t, h, o)
					transport.DialContext = p.dial
					t.Cleanup(transport.CloseIdleConnections)
					test(t, &http.Client{Transport: scheme{transport, secure}}, s)
				})
			})
		}
	}
}

// scheme makes requests over TLS of those that are not.
type scheme struct {
	*http.Transport
	secure bool
}

func (s scheme) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.secure {
		r.URL.Scheme = "https"
	}
	return s.Transport.RoundTrip(r)
}

// A call whose request was read may take minutes, and so may its stream: the deadline of reading is over.
func TestLongCallsOutliveTheReadTimeout(t *testing.T) {
	d := NewGuard(nil, Options{})
	h := func(w http.ResponseWriter, r *http.Request) {
		if _, ok := d.Message(w, r, nil); !ok {
			return
		}
		e := d.Answering(w)
		for range 10 {
			time.Sleep(time.Minute)
			if r.Context().Err() != nil {
				return
			}
			if r.URL.Path == "/stream" && e.Comment() != nil {
				return
			}
		}
		e.Close()
	}
	each(t, h, func(t *testing.T, c *http.Client, s *Server) {
		for _, path := range []string{"/call", "/stream"} {
			began := time.Now()
			s.LimitReads(time.Second) // which is not for them either
			r, err := c.Post("http://x"+path, TypeJSON, http.NoBody)
			if err == nil {
				_, err = io.Copy(io.Discard, r.Body)
			}
			if took := time.Since(began); err != nil || took != 10*time.Minute {
				t.Errorf("%s: ended after %s, %v; want 10m", path, took, err)
			}
		}
	})
}

// A connection that is not known to be HTTP/2 when the shutdown begins does not delay it more than
// others.
func TestShutdownOfAConnectionThatBecomesHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := inMemory(t, func(http.ResponseWriter, *http.Request) {})
		conn, err := p.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		synctest.Wait()
		ended := make(chan error, 1)
		began := time.Now()
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ended <- s.Shutdown(ctx)
		}()
		synctest.Wait() // it has notified all HTTP/2 connections, and waits
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
			t.Fatal(err)
		}
		if err, took := <-ended, time.Since(began); err != nil || took > 5*time.Second {
			t.Errorf("ended after %s with %v", took, err)
		}
	})
}

// A stream lives on although its request announced a body that never comes.
func TestStreamWithoutItsBody(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		NewGuard(nil, Options{}).Listen(w, r, func(ctx context.Context, l *Listener) {
			e, err := l.Events()
			for range 20 {
				if err == nil {
					time.Sleep(15 * time.Second)
					err = e.Comment()
				}
			}
			e.Close()
		})
	}
	each(t, h, func(t *testing.T, c *http.Client, _ *Server) {
		body, never := io.Pipe()
		defer never.Close()
		began := time.Now()
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/", body)
		r, err := c.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("answered after %s", waited)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if took := time.Since(began); took < 5*time.Minute {
			t.Errorf("ended after %s, want 5m", took)
		}
	})
}

// A body that was read leaves the connection open; one that was not closes it once its answer is out.
func TestKeptConnections(t *testing.T) {
	d := NewGuard(nil, Options{})
	synctest.Test(t, func(t *testing.T) {
		p, _ := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
			if body, ok := d.Message(w, r, nil); ok {
				d.Answer(w, http.StatusOK, body)
			}
		})
		c, _ := p.dial(t.Context(), "", "")
		defer c.Close()
		answers := bufio.NewReader(c)
		for _, q := range []struct {
			head, body string
			status     int
			close      bool
		}{
			{"Content-Length: 2\r\nContent-Type: application/json\r\n", "{}", 200, false},
			{"Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n", "2\r\n{}\r\n0\r\n\r\n", 200, false},
			{"Content-Length: 0\r\nContent-Type: application/json\r\n", "", 200, false},
			{"Content-Length: 2\r\nContent-Type: text/plain\r\n", "{}", 415, true},
		} {
			_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\n%s\r\n%s", q.head, q.body)
			r, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if r.StatusCode != q.status || r.Close != q.close {
				t.Errorf("%q: %d, close %t; want %d, %t", q.head, r.StatusCode, r.Close, q.status, q.close)
			}
		}
	})
}

// Under LimitReads a body has less time, whenever its request began.
func TestLimitReads(t *testing.T) {
	d := NewGuard(nil, Options{})
	h := func(w http.ResponseWriter, r *http.Request) { d.Message(w, r, nil) }
	each(t, h, func(t *testing.T, c *http.Client, s *Server) {
		for name, first := range map[string]bool{"before": true, "after": false} {
			s.LimitReads(0)
			if !first {
				s.LimitReads(2 * time.Second)
			}
			body, never := io.Pipe()
			defer never.Close()
			began := time.Now()
			if first {
				time.AfterFunc(time.Second, func() { s.LimitReads(time.Second) })
			}
			r, err := c.Post("http://x/", TypeJSON, body)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if took := time.Since(began); r.StatusCode != 400 || took != 2*time.Second {
				t.Errorf("a request %s the limit: %d after %s, want 400 after 2s", name, r.StatusCode, took)
			}
		}
	})
}

func TestAddressBehindProxies(t *testing.T) {
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	type h = map[string][]string
	for name, c := range map[string]struct {
		peer string
		h    h
		want string
	}{
		"no proxy":                    {"192.0.2.1:80", h{"X-Forwarded-For": {"198.51.100.1"}}, "192.0.2.1"},
		"a proxy says nothing":        {"10.0.0.1:80", nil, "10.0.0.1"},
		"one":                         {"10.0.0.1:80", h{"X-Forwarded-For": {"198.51.100.1"}}, "198.51.100.1"},
		"what a client says itself":   {"10.0.0.1:80", h{"X-Forwarded-For": {"127.0.0.1, 198.51.100.1"}}, "198.51.100.1"},
		"in a line of its own":        {"10.0.0.1:80", h{"X-Forwarded-For": {"127.0.0.1", "198.51.100.1"}}, "198.51.100.1"},
		"behind two":                  {"10.0.0.1:80", h{"X-Forwarded-For": {"1.2.3.4, 198.51.100.1, 10.9.9.9"}}, "198.51.100.1"},
		"proxies alone":               {"10.0.0.1:80", h{"X-Forwarded-For": {"10.3.3.3,10.2.2.2"}}, "10.3.3.3"},
		"with a port":                 {"10.0.0.1:80", h{"X-Forwarded-For": {"198.51.100.1:4711"}}, "198.51.100.1"},
		"IPv6":                        {"[fd00::1]:80", h{"X-Forwarded-For": {"2001:db8::7"}}, "2001:db8::7"},
		"IPv6 with a port":            {"[fd00::1]:80", h{"X-Forwarded-For": {"[2001:db8::7]:1"}}, "2001:db8::7"},
		"IPv4 in IPv6":                {"[::ffff:10.0.0.1]:80", h{"X-Forwarded-For": {"::ffff:198.51.100.1"}}, "198.51.100.1"},
		"no address":                  {"10.0.0.1:80", h{"X-Forwarded-For": {"198.51.100.1, unknown"}}, "10.0.0.1"},
		"no address, behind another":  {"10.0.0.1:80", h{"X-Forwarded-For": {"198.51.100.1, rubbish, 10.7.7.7"}}, "10.7.7.7"},
		"Forwarded":                   {"10.0.0.1:80", h{"Forwarded": {`for=192.0.2.60;proto=http;by=203.0.113.43`}}, "192.0.2.60"},
		"Forwarded, IPv6":             {"10.0.0.1:80", h{"Forwarded": {`proto=http; For="[2001:db8:cafe::17]:4711"`}}, "2001:db8:cafe::17"},
		"Forwarded, several":          {"10.0.0.1:80", h{"Forwarded": {`for=1.2.3.4, for=198.51.100.1`, `for=10.1.1.1`}}, "198.51.100.1"},
		"Forwarded, obfuscated":       {"10.0.0.1:80", h{"Forwarded": {`for=_hidden`}}, "10.0.0.1"},
		"Forwarded, an open quote":    {"10.0.0.1:80", h{"Forwarded": {`for="1.2.3.4`, `for=198.51.100.1`}}, "198.51.100.1"},
		"both agree":                  {"10.0.0.1:80", h{"Forwarded": {`for=198.51.100.1`}, "X-Forwarded-For": {"198.51.100.1"}}, "198.51.100.1"},
		"the one is a client's":       {"10.0.0.1:80", h{"Forwarded": {`for=127.0.0.1`}, "X-Forwarded-For": {"198.51.100.1"}}, "10.0.0.1"},
		"the other one is a client's": {"10.0.0.1:80", h{"Forwarded": {`for=198.51.100.1`}, "X-Forwarded-For": {"127.0.0.1"}}, "10.0.0.1"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: c.h}
		if got := NewGuard(nil, Options{Proxies: proxies}).Address(r); got != netip.MustParseAddr(c.want) {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// A stream counts for the address that a proxy names for as long as it is open, though its connection was taken from
// the server, with TLS and without.
func TestStreamsCountForTheirAddress(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		NewGuard(nil, Options{}).Listen(w, r, func(ctx context.Context, l *Listener) {
			if e, err := l.Events(); err == nil {
				<-ctx.Done()
				e.Close()
			}
		})
	}
	o := ServerOptions{ReadTimeout: 30 * time.Second, HTTP2Streams: 100, MaxPerAddress: 1, Proxies: Proxies{netip.MustParsePrefix("10.0.0.0/8")}}
	eachWith(t, h, o, func(t *testing.T, c *http.Client, _ *Server) {
		open := func() *http.Response {
			q, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/", nil)
			q.Header.Set("X-Forwarded-For", "198.51.100.1")
			r, err := c.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		first := open()
		second := open()
		_ = second.Body.Close()
		if first.StatusCode != http.StatusOK || second.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%d and %d, want 200 and 503", first.StatusCode, second.StatusCode)
		}
		_ = first.Body.Close()
		c.CloseIdleConnections()
		time.Sleep(time.Minute)
		third := open()
		_ = third.Body.Close()
		if third.StatusCode != http.StatusOK {
			t.Errorf("%d behind the first", third.StatusCode)
		}
	})
}

// A connection that is old is closed with its next answer, over either version of HTTP, and no request is lost.
func TestOldConnectionsAreClosed(t *testing.T) {
	d := NewGuard(nil, Options{})
	h := func(w http.ResponseWriter, r *http.Request) {
		if _, ok := d.Message(w, r, nil); ok {
			w.WriteHeader(http.StatusAccepted)
		}
	}
	o := ServerOptions{ReadTimeout: 30 * time.Second, HTTP2Streams: 100, MaxAge: 20 * time.Second}
	eachWith(t, h, o, func(t *testing.T, c *http.Client, _ *Server) {
		for i, step := range []struct {
			after  time.Duration
			reused bool
		}{{0, false}, {9 * time.Second, true}, {12 * time.Second, true}, {time.Second, false}, {9 * time.Second, true}} {
			time.Sleep(step.after)
			var reused bool
			trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
			req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost, "http://x/", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", TypeJSON)
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusAccepted || reused != step.reused {
				t.Errorf("request %d: status %d, on a connection that was there before: %t, want %t", i+1, resp.StatusCode, reused, step.reused)
			}
		}
	})
}
