package conn

import (
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// soon is how long a test waits for what it expects.
const soon = 10 * time.Second

// past is the deadline by which net/http interrupts.
var past = time.Unix(1, 0)

// counts of what reached the connections below.
type counts struct {
	reads, writes, deadlines atomic.Int64
	// single are reads of one byte that began, or have ended.
	singleBegun, singleEnded atomic.Int64
}

// counted is a connection below a Conn.
type counted struct {
	net.Conn
	*counts
}

func (c counted) Read(p []byte) (int, error) {
	c.reads.Add(1)
	if len(p) == 1 {
		c.singleBegun.Add(1)
		defer c.singleEnded.Add(1)
	}
	return c.Conn.Read(p)
}

func (c counted) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

func (c counted) SetReadDeadline(t time.Time) error {
	c.deadlines.Add(1)
	return c.Conn.SetReadDeadline(t)
}

func (c counted) SetWriteDeadline(t time.Time) error {
	c.deadlines.Add(1)
	return c.Conn.SetWriteDeadline(t)
}

func (c counted) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// listener has its connections counted.
type listener struct {
	net.Listener
	*counts
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return counted{c, l.counts}, nil
}

func listen(t testing.TB) (*Listener, *counts) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	n := new(counts)
	return NewListener(listener{l, n}), n
}

// pipe is a connection without buffers, in memory, in a bubble of synctest, where its deadlines are exact.
func pipe(t testing.TB) (c *Conn, peer net.Conn, n *counts) {
	t.Helper()
	n = new(counts)
	inner, peer := net.Pipe()
	c = newConn(counted{inner, n}, new(waiters))
	t.Cleanup(func() {
		_ = c.Close()
		_ = peer.Close()
		time.Sleep(patience) // the bubble has to be empty at its end
	})
	return c, peer, n
}

// tcp is a connection over the loopback.
func tcp(t testing.TB) (c *Conn, peer net.Conn, n *counts) {
	t.Helper()
	l, n := listen(t)
	peer = dial(t, l)
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = accepted.Close() })
	return accepted.(*Conn), peer, n
}

func dial(t testing.TB, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(soon))
	return c
}

// await returns once cond holds.
func await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, soon)
		}
	}
}

// within returns what arrives.
func within[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(soon):
		t.Fatalf("%s: not within %v", what, soon)
		panic("unreachable")
	}
}

// parked reports whether a Read of c is held back.
func (c *Conn) parked() bool {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	return c.waiter.at > 0
}
