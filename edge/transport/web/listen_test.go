package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/frame"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

const soon = await.Patience

// listened serves every request by Guard.Listen. returned receives a value for each handler that
// has returned.
func listened(t *testing.T, o Options, fn func(context.Context, *Listener)) (d *Guard, s *httptest.Server, returned chan struct{}) {
	t.Helper()
	d, returned = NewGuard(nil, o), make(chan struct{}, 10)
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { returned <- struct{}{} }()
		d.Listen(w, r, fn)
	}))
	s.Config.Protocols = &http.Protocols{}
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(func() {
		s.Close()
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		if err := d.Wait(ctx); err != nil {
			t.Errorf("streams are left: %v", err)
		}
	})
	return d, s, returned
}

// get sends a GET of a version of HTTP/1 over a connection of its own.
func get(t *testing.T, s *httptest.Server, version string) (net.Conn, *http.Response) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(soon))
	if _, err := io.WriteString(conn, "GET / HTTP/"+version+"\r\nHost: x\r\nConnection: keep-alive\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn, resp
}

func within(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(soon):
		t.Fatalf("%s: not within %v", what, soon)
	}
}

func TestListenedStreamLeavesItsServer(t *testing.T) {
	events := make(chan frame.Event)
	d, s, returned := listened(t, Options{}, func(_ context.Context, l *Listener) {
		l.w.Header().Set("X-Of-Handler", "kept")
		stream, err := l.Events()
		if err != nil {
			t.Error(err)
			return
		}
		for ev := range events {
			if err := stream.Hold(ev); err != nil {
				t.Error(err)
			}
			if err := stream.Comment(); err != nil {
				t.Error(err)
			}
		}
		if err := stream.Hold(frame.Event{ID: "last"}); err != nil {
			t.Error(err)
		}
		stream.Close()
	})
	conn, resp := get(t, s, "1.1")
	within(t, "the handler", returned)
	if resp.StatusCode != http.StatusOK || !resp.Close || len(resp.TransferEncoding) != 1 ||
		resp.Header.Get("Content-Type") != TypeEvents || resp.Header.Get("X-Of-Handler") != "kept" {
		t.Errorf("%+v", resp)
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err != nil || time.Since(date) > time.Minute {
		t.Errorf("Date: %v, %v", date, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("waited for an open stream: %v", err)
	}
	// A request on this connection is read and not served.
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	for _, size := range []int{1, 9, 2 << 10, maxHeld} {
		ev := frame.Event{Data: bytes.Repeat([]byte("x"), size)}
		events <- ev
		want.Write(frame.AppendComment(frame.AppendEvent(nil, ev), ""))
		events <- frame.Event{} // which is nothing
		want.Write(frame.AppendComment(nil, ""))
	}
	close(events)
	want.Write(frame.AppendEvent(nil, frame.Event{ID: "last"}))
	got, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes, error %v, want %d: %.300q", len(got), err, want.Len(), got)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("after the response: %d bytes, %v", n, err)
	}
}

// Other protocols have many streams on a connection, or no end of a response but the connection's.
func TestListenedStreamStaysInItsServer(t *testing.T) {
	release := make(chan struct{})
	_, s, returned := listened(t, Options{}, func(_ context.Context, l *Listener) {
		if stream, err := l.Events(); err == nil {
			_ = stream.Comment()
			<-release
			stream.Close()
		}
	})
	check := func(t *testing.T, proto string, resp *http.Response) {
		t.Helper()
		if resp.Proto != proto {
			t.Errorf("protocol %s", resp.Proto)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, len(":\n\n"))); err != nil {
			t.Error(err)
		}
		select {
		case <-returned:
			t.Error("the handler has returned")
		default:
		}
		release <- struct{}{}
		if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
			t.Errorf("%q, %v", rest, err)
		}
		within(t, "the handler", returned)
	}
	t.Run("1.0", func(t *testing.T) {
		_, resp := get(t, s, "1.0")
		check(t, "HTTP/1.0", resp)
		if len(resp.TransferEncoding) > 0 {
			t.Error("chunks in HTTP/1.0")
		}
	})
	t.Run("2", func(t *testing.T) {
		transport := &http.Transport{Protocols: &http.Protocols{}}
		transport.Protocols.SetUnencryptedHTTP2(true)
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		check(t, "HTTP/2.0", resp)
	})
}

func TestListenedStreamEndsWithItsClient(t *testing.T) {
	for name, open := range map[string]bool{"before it is open": false, "when it is open": true} {
		t.Run(name, func(t *testing.T) {
			begun, ended := make(chan struct{}), make(chan struct{})
			_, s, _ := listened(t, Options{}, func(ctx context.Context, l *Listener) {
				if open {
					stream, err := l.Events()
					if err != nil {
						t.Error(err)
						return
					}
					defer stream.Close()
				}
				close(begun)
				<-ctx.Done()
				close(ended)
			})
			conn, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			within(t, "the request", begun)
			_ = conn.Close()
			within(t, "the end of the context", ended)
		})
	}
}

// A connection whose request was answered serves the next one.
func TestListenRefuses(t *testing.T) {
	var d *Guard
	d, s, _ := listened(t, Options{}, func(_ context.Context, l *Listener) {
		d.Refuse(l.w, http.StatusNotFound, "no such session")
	})
	for range 2 {
		resp, err := s.Client().Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusNotFound || resp.Close || !strings.Contains(string(body), "no such session") {
			t.Errorf("%+v: %s, %v", resp, body, err)
		}
	}
}

// A client that does not read is let go after the write timeout, without a second one at the end.
func TestListenedStreamLetsASlowClientGo(t *testing.T) {
	const timeout = 2 * time.Second
	var took time.Duration
	over := make(chan struct{})
	_, s, _ := listened(t, Options{WriteTimeout: timeout}, func(_ context.Context, l *Listener) {
		defer close(over)
		stream, err := l.Events()
		if err != nil {
			t.Error(err)
			return
		}
		for err == nil {
			err = stream.Send(frame.Event{Data: make([]byte, 1<<20)})
		}
		if late := net.Error(nil); !errors.As(err, &late) || !late.Timeout() {
			t.Errorf("%v, want a timeout", err)
		}
		began := time.Now()
		stream.Close()
		took = time.Since(began)
	})
	get(t, s, "1.1")
	within(t, "the timeout", over)
	if took >= timeout {
		t.Errorf("the end took %v", took)
	}
}

func TestListenKeepsAPanicToItself(t *testing.T) {
	for name, open := range map[string]bool{"before the stream": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			var said strings.Builder // a Logger writes one line at a time
			logger := log.New(&said, "", 0)
			d := NewGuard(nil, Options{})
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				d.Listen(w, r, func(_ context.Context, l *Listener) {
					if open {
						_, _ = l.Events()
					}
					panic("a bug")
				})
			}))
			s.Config.ErrorLog = logger
			s.Start()
			defer s.Close()
			resp, err := s.Client().Get(s.URL)
			if err == nil {
				_, _ = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			if err == nil != open {
				t.Errorf("error %v", err)
			}
			s.Close() // Wait is for when no handler runs any more
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			if err := d.Wait(ctx); err != nil {
				t.Error(err)
			}
			if text := said.String(); !strings.Contains(text, "a bug") || !strings.Contains(text, "TestListenKeepsAPanicToItself") {
				t.Errorf("logged %q", text)
			}
		})
	}
}

// Who cannot open the stream, or forgets to end it, leaves no connection open.
func TestListenLeavesNoConnectionOpen(t *testing.T) {
	_, s, _ := listened(t, Options{}, func(_ context.Context, l *Listener) { _, _ = l.Events() })
	conn, resp := get(t, s, "1.1")
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the stream was ended")
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection: %v", err)
	}
}

// A response that hides its connection is written where it is.
func TestListenWithoutHijack(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	NewGuard(nil, Options{}).Listen(w, r, func(_ context.Context, l *Listener) {
		stream, err := l.Events()
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Hold(frame.Event{ID: "1"})
		stream.Close()
	})
	if got := w.Body.String(); w.Header().Get("Content-Type") != TypeEvents || got != "id: 1\ndata: \n\n" {
		t.Errorf("%v: %q", w.Header(), got)
	}
}

func TestChunksAreSized(t *testing.T) {
	for _, n := range []int{1, 15, 16, 255, 256, 4096, 65535, 65536, 1 << 20} {
		want := bytes.Repeat([]byte("x"), n)
		wire := append(completeChunk(append([]byte(chunkHead), want...)), "0\r\n\r\n"...)
		got, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(wire)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes became %d: %v", n, len(got), err)
		}
	}
}
