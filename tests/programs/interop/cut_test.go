package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// echo answers each line with itself until the test ends.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// dial connects through b and has one line echoed.
func dial(t *testing.T, b *breaker) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", b.addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(await.Patience)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := r.ReadString('\n'); line != "hello\n" || err != nil {
		t.Fatalf("echoed %q, %v", line, err)
	}
	return c, r
}

func TestBreaker(t *testing.T) {
	b, err := startBreaker(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer b.stop()
	_, one := dial(t, b)
	_, two := dial(t, b)

	resp, err := http.Post(b.url, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.ReadAll(resp.Body); string(n) != "2" || err != nil {
		t.Errorf("broke %q connections, want 2 (%v)", n, err)
	}
	for _, r := range []*bufio.Reader{one, two} {
		if line, err := r.ReadString('\n'); err == nil {
			t.Errorf("read %q from a broken connection", line)
		} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			t.Error("a connection is not broken")
		}
	}
	dial(t, b) // the next one is passed on

	resp, err = http.Get(b.url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %s", resp.Status)
	}
}
