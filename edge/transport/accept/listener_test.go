package accept

import (
	"bytes"
	"errors"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// logs collects what is logged.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) lines() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), "\n")
}

func logger() (*slog.Logger, *logs) {
	l := &logs{}
	return slog.New(slog.NewTextHandler(l, nil)), l
}

func loopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// accepting hands on what a listener accepts.
func accepting(t *testing.T, l net.Listener) <-chan net.Conn {
	conns, ended := make(chan net.Conn, 100), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns <- c
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return conns
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func answer(t *testing.T, c net.Conn) string {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(await.Patience))
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A connection beyond a bound is sent which bound it reached, whatever it sends; a closed one, even
// twice, makes room for one.
func TestBounds(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"in all":         {Options{Max: 2}, fullMessage},
		"of one address": {Options{Max: 3, MaxPerAddress: 2}, addressMessage},
		"of proxies": {Options{Max: 2, MaxPerAddress: 1,
			Trusted: func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.1") }}, fullMessage},
	} {
		t.Run(name, func(t *testing.T) {
			log, logged := logger()
			c.o.Logger, c.o.Refusal = log, func(m string) []byte { return []byte(m) }
			l := NewListener(loopback(t), c.o)
			conns := accepting(t, l)
			dial(t, l)
			first := <-conns
			dial(t, l)
			<-conns
			for range 3 {
				one := dial(t, l)
				_, _ = io.WriteString(one, "POST / HTTP/1.1\r\n")
				if got := answer(t, one); got != c.want {
					t.Errorf("refused with %q, want %q", got, c.want)
				}
			}
			if l.Open() != 2 || logged.lines() != 1 {
				t.Errorf("%d connections, %d lines in the log; want 2 and 1", l.Open(), logged.lines())
			}
			_, _ = first.Close(), first.Close()
			dial(t, l)
			<-conns
			if got := answer(t, dial(t, l)); got != c.want {
				t.Errorf("two took the place of one: %q", got)
			}
		})
	}
}

// A connection that has one of the last files is refused, and the listener lives on.
func TestReserve(t *testing.T) {
	log, logged := logger()
	f := NewFiles(loopback(t), FilesOptions{Limit: 10, Reserve: 9, Refusal: []byte("no file"), Logger: log})
	conns := accepting(t, f)
	for range 3 { // the descriptors 0 and 1 are in use
		if got := answer(t, dial(t, f)); got != "no file" {
			t.Errorf("refused with %q", got)
		}
	}
	if len(conns) != 0 || logged.lines() != 1 {
		t.Errorf("%d accepted, %d lines in the log; want none and 1", len(conns), logged.lines())
	}
}

// failing is a listener whose Accept fails some times.
type failing struct {
	net.Listener
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
	}
	return f.Listener.Accept()
}

// No error but the listener's end is one for the server.
func TestAcceptContinues(t *testing.T) {
	log, logged := logger()
	inner := &failing{loopback(t), []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.EMFILE}}
	f := NewFiles(inner, FilesOptions{Logger: log})
	conns := accepting(t, f)
	dial(t, f)
	<-conns
	if logged.lines() != 1 {
		t.Errorf("%d lines in the log, want 1", logged.lines())
	}
	_ = f.Close()
	if _, err := f.Listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// A listener that is closed while it pauses ends at once.
func TestCloseEndsAPause(t *testing.T) {
	inner := &failing{Listener: loopback(t)}
	for range 1000 {
		inner.errs = append(inner.errs, syscall.EMFILE)
	}
	log, logged := logger()
	f := NewFiles(inner, FilesOptions{Logger: log})
	ended := make(chan error)
	go func() {
		_, err := f.Accept()
		ended <- err
	}()
	for logged.lines() == 0 {
		time.Sleep(time.Millisecond)
	}
	_ = f.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	case <-time.After(await.Patience):
		t.Fatal("Accept still tries")
	}
}

// What is left to a connection's end is done once, at once if that was before.
func TestOnClose(t *testing.T) {
	l := NewListener(loopback(t), Options{})
	conns := accepting(t, l)
	dial(t, l)
	c := (<-conns).(*Conn)
	n := 0
	c.OnClose(func() { n++ })
	_ = c.Close()
	_ = c.Close()
	if n != 1 {
		t.Errorf("called %d times by the end, want 1", n)
	}
	c.OnClose(func() { n++ })
	if n != 2 {
		t.Error("not called after the end")
	}
}

// Until its server says that a connection has a request, or waits for one, LimitReads bounds it
// even without a deadline: the server of HTTP/2 over TLS sets none while it waits for the client's
// first bytes.
func TestLimitReadsOfANewConnection(t *testing.T) {
	for name, before := range map[string]bool{"known before": true, "accepted after": false} {
		t.Run(name, func(t *testing.T) {
			l := NewListener(loopback(t), Options{})
			conns := accepting(t, l)
			if !before {
				l.LimitReads(10 * time.Millisecond)
			}
			dial(t, l)
			c := <-conns
			_ = c.SetReadDeadline(time.Time{}) // as net/http does after a handshake
			if before {
				l.LimitReads(10 * time.Millisecond)
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("a new connection: %v", err)
			}
			c.(*Conn).Idle(true)
			read := make(chan error, 1)
			go func() {
				_, err := c.Read(make([]byte, 1))
				read <- err
			}()
			select {
			case err := <-read:
				t.Errorf("one that waits for a request: %v", err)
			case <-time.After(50 * time.Millisecond):
			}
			_ = c.Close()
			<-read
		})
	}
}
