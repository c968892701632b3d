package replicas

import (
	"bufio"
	"fmt"
	"net"
	"testing"
)

// startGreeter listens and sends its name on each connection.
func startGreeter(t *testing.T, name string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(c, "%s\n", name)
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

func TestForwarderSwitches(t *testing.T) {
	first, second := startGreeter(t, "first"), startGreeter(t, "second")
	f, err := Forward(first)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	dial := func(want string) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", f.Addr)
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if line != want && err == nil {
			t.Fatalf("%q answers, want %q", line, want)
		}
		return c
	}
	old := dial("first\n")
	defer old.Close()
	f.Switch(second)
	if _, err := old.Read(make([]byte, 1)); err == nil {
		t.Error("a connection to the former target still stands")
	}
	defer dial("second\n").Close()
	f.Switch("")
	c, err := net.Dial("tcp", f.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a forwarder to nobody answers")
	}
}
