package conn

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// serve serves by a server with every timeout. It ends with the test.
func serve(t testing.TB, l net.Listener, h http.HandlerFunc) *http.Server {
	t.Helper()
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute, Protocols: &http.Protocols{}}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return s
}

// ask sends a request without awaiting its response.
func ask(t testing.TB, c net.Conn, request string) {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
}

// answer reads a response, which is to be body.
func answer(t testing.TB, r *bufio.Reader, body string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if string(got) != body || err != nil {
		t.Errorf("%d: %q, %v, want %q", resp.StatusCode, got, err, body)
	}
}

// stage is a moment in the life of the one background read; it returns when that has come.
type stage func(t *testing.T, l *Listener, n *counts)

func atOnce(*testing.T, *Listener, *counts) {}

// waits is over soon: the read may have begun where the machine is slow.
func waits(t *testing.T, l *Listener, n *counts) {
	t.Helper()
	await(t, "a read that waits", func() bool {
		for i := range l.waiters {
			w := &l.waiters[i]
			w.mu.Lock()
			waiting := len(w.list)
			w.mu.Unlock()
			if waiting > 0 {
				return true
			}
		}
		return n.singleBegun.Load() > 0
	})
}

func begun(t *testing.T, _ *Listener, n *counts) {
	t.Helper()
	await(t, "the read", func() bool { return n.singleBegun.Load() == 1 })
}

func ended(t *testing.T, _ *Listener, n *counts) {
	t.Helper()
	await(t, "the end of the read", func() bool { return n.singleEnded.Load() == 1 })
}

// Handlers that return soon cost the connection nothing but their requests and responses.
func TestRequestsCostLittle(t *testing.T) {
	const requests = 1000
	for name, h := range map[string]http.HandlerFunc{
		"at once": func(http.ResponseWriter, *http.Request) {},
		"with deadlines of its own": func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w)
			_ = control.SetReadDeadline(time.Now().Add(time.Minute))
			_, _ = io.ReadAll(r.Body)
			_ = control.SetReadDeadline(time.Time{})
			runtime.Gosched() // the background read begins
			_ = control.SetWriteDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(w, "done")
			_ = control.SetWriteDeadline(time.Time{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, n := listen(t)
			serve(t, l, h)
			c := dial(t, l)
			r := bufio.NewReader(c)
			for range requests {
				ask(t, c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody")
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.ReadAll(resp.Body)
			}
			// A handler may be slow on a slow machine.
			single := n.singleBegun.Load()
			if single > requests/10 {
				t.Errorf("%d background reads reached the connection", single)
			}
			if got := n.deadlines.Load(); got > 4+2*single {
				t.Errorf("%d deadlines reached the connection", got)
			}
			if got := n.reads.Load(); got > requests+2+2*single {
				t.Errorf("%d reads reached the connection", got)
			}
			if got := n.writes.Load(); got > requests+2 {
				t.Errorf("%d writes reached the connection", got)
			}
		})
	}
}

// A handler learns that its client has left.
func TestClientLeaves(t *testing.T) {
	for name, when := range map[string]stage{
		"at once":                      atOnce,
		"while the read waits":         waits,
		"when the read has begun":      begun,
		"when the listener was closed": func(_ *testing.T, l *Listener, _ *counts) { _ = l.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			l, n := listen(t)
			asked, left := make(chan struct{}, 1), make(chan struct{}, 1)
			serve(t, l, func(_ http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-r.Context().Done()
				left <- struct{}{}
			})
			c := dial(t, l)
			ask(t, c, request)
			within(t, "the request", asked)
			when(t, l, n)
			_ = c.Close()
			within(t, "the end of the context", left)
		})
	}
}

// bubbled is a listener in a bubble of synctest.
type bubbled chan net.Conn

func (b bubbled) Accept() (net.Conn, error) {
	if c, ok := <-b; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (b bubbled) Addr() net.Addr { return &net.TCPAddr{} }

func (b bubbled) Close() error { close(b); return nil }

// It learns that within the bound.
func TestClientLeavesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := make(bubbled, 1)
		s := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			began := time.Now()
			<-r.Context().Done()
			if took := time.Since(began); took > patience {
				t.Errorf("took %v", took)
			}
		})}
		l := NewListener(b)
		go func() { _ = s.Serve(l) }()
		c, peer := net.Pipe()
		b <- c
		ask(t, peer, request)
		synctest.Wait()
		_ = peer.Close()
		time.Sleep(2 * patience)
		_ = s.Close()
	})
}

// Who takes the connection of a request has what the client sends before and after.
func TestHijack(t *testing.T) {
	for name, c := range map[string]struct {
		early string // what is sent before
		when  stage
	}{
		"at once":                          {"", atOnce},
		"while the read waits":             {"", waits},
		"while the read waits, with bytes": {"early ", waits},
		"when the read has begun":          {"", begun},
		"when the read has ended":          {"early ", ended},
	} {
		t.Run(name, func(t *testing.T) {
			l, n := listen(t)
			asked, sent, taken := make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1)
			serve(t, l, func(w http.ResponseWriter, _ *http.Request) {
				asked <- struct{}{}
				<-sent
				c.when(t, l, n)
				conn, buffered, err := http.NewResponseController(w).Hijack()
				taken <- struct{}{}
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(buffered)
				if err != nil {
					t.Error(err)
				}
				if _, err := conn.Write(got); err != nil {
					t.Error(err)
				}
				_ = conn.Close()
			})
			client := dial(t, l)
			ask(t, client, request)
			within(t, "the request", asked)
			ask(t, client, c.early)
			close(sent)
			within(t, "the hijack", taken)
			ask(t, client, "late")
			if err := client.(*net.TCPConn).CloseWrite(); err != nil {
				t.Error(err)
			}
			if got, err := io.ReadAll(client); string(got) != c.early+"late" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// A request that arrives during another is served after it.
func TestPipelining(t *testing.T) {
	for name, when := range map[string]stage{
		"at once":                 atOnce,
		"while the read waits":    waits,
		"when the read has ended": ended,
	} {
		t.Run(name, func(t *testing.T) {
			l, n := listen(t)
			asked, sent := make(chan struct{}, 2), make(chan struct{})
			serve(t, l, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/first" {
					asked <- struct{}{}
					<-sent
					when(t, l, n)
				}
				_, _ = io.WriteString(w, r.URL.Path)
			})
			c := dial(t, l)
			r := bufio.NewReader(c)
			ask(t, c, strings.Replace(request, "/", "/first", 1))
			within(t, "the first request", asked)
			ask(t, c, strings.Replace(request, "/", "/second", 1))
			close(sent)
			answer(t, r, "/first")
			answer(t, r, "/second")
		})
	}
}

// A connection that is closed below a handler ends its context, and a server that is shut down lets it answer.
func TestEndOfTheServer(t *testing.T) {
	for name, when := range map[string]stage{
		"while the read waits":    waits,
		"when the read has begun": begun,
	} {
		t.Run(name+"/close", func(t *testing.T) {
			l, n := listen(t)
			asked, left := make(chan struct{}, 1), make(chan struct{}, 1)
			s := serve(t, l, func(_ http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-r.Context().Done()
				left <- struct{}{}
			})
			ask(t, dial(t, l), request)
			within(t, "the request", asked)
			when(t, l, n)
			_ = s.Close()
			within(t, "the end of the context", left)
		})
		t.Run(name+"/shut down", func(t *testing.T) {
			l, n := listen(t)
			asked, release := make(chan struct{}, 1), make(chan struct{})
			s := serve(t, l, func(w http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-release
				if err := r.Context().Err(); err != nil {
					t.Error(err)
				}
				_, _ = io.WriteString(w, "done")
			})
			down := make(chan error, 1)
			s.RegisterOnShutdown(func() { close(release) })
			c := dial(t, l)
			ask(t, c, request)
			within(t, "the request", asked)
			when(t, l, n)
			go func() { down <- s.Shutdown(context.Background()) }()
			answer(t, bufio.NewReader(c), "done")
			if err := within(t, "the shutdown", down); err != nil {
				t.Error(err)
			}
		})
	}
}

// HTTP/2 is served as ever, on the same listener.
func TestHTTP2(t *testing.T) {
	l, n := listen(t)
	left := make(chan struct{}, 1)
	serve(t, l, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			left <- struct{}{}
			return
		}
		_, _ = io.WriteString(w, r.Proto+" ")
		_, _ = io.Copy(w, r.Body)
	})
	transport := &http.Transport{Protocols: &http.Protocols{}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for _, body := range []string{"", "x", strings.Repeat("long", 1<<14)} {
		resp, err := client.Post("http://"+l.Addr().String(), "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(got) != "HTTP/2.0 "+body || err != nil {
			t.Errorf("%d bytes, %v, want %d", len(got), err, len(body))
		}
	}
	resp, err := client.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	within(t, "the end of the context", left)
	if got := n.deadlines.Load(); got > 4 {
		t.Errorf("%d deadlines reached the connection", got)
	}
}

// Nothing is left of connections, whatever happened to them.
func TestGoroutinesEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("serve", func(t *testing.T) {
		l, _ := listen(t)
		asked := make(chan struct{}, 100)
		serve(t, l, func(w http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			if r.URL.Path == "/stay" {
				<-r.Context().Done()
			}
		})
		for i := range 20 {
			path := []string{"/", "/stay"}[i%2]
			ask(t, dial(t, l), strings.Replace(request, "/", path, 1))
			within(t, "the request", asked)
		}
		_ = l.Close()
	})
	await(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
}
