package grpcconn

import (
	"context"
	"testing"

	"google.golang.org/grpc/connectivity"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestClose: a closed connection serves its remaining users, and refuses new ones.
func TestClose(t *testing.T) {
	c, err := New("passthrough:///127.0.0.1:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !c.Acquire() {
			t.Fatal("it is closed")
		}
	}
	c.Close()
	if c.Acquire() {
		t.Error("a closed connection has a new user")
	}
	c.Release()
	if s := c.conn.GetState(); s == connectivity.Shutdown {
		t.Error("it closed before its last user")
	}
	c.Release()
	await.Until(t, "the end", func() bool { return c.conn.GetState() == connectivity.Shutdown })
	c.Close()
}

// TestStart: it connects before its first message.
func TestStart(t *testing.T) {
	c, err := New("passthrough:///127.0.0.1:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s := c.conn.GetState(); s != connectivity.Idle {
		t.Fatalf("it is %v before Start", s)
	}
	c.Start()
	if !c.conn.WaitForStateChange(context.Background(), connectivity.Idle) {
		t.Error("it does not connect")
	}
}

func TestTarget(t *testing.T) {
	if _, err := New("dns://%zz/", nil); err == nil {
		t.Error("an invalid target gave no error")
	}
}
