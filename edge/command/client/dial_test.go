package client

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// TestWaitIsForTheFirstConnection: once the server was reached, a refused connection is not
// retried.
func TestWaitIsForTheFirstConnection(t *testing.T) {
	l, err := freeport.Listen()
	if err != nil {
		t.Fatal(err)
	}
	d := dialer{wait: time.Hour}
	conn, err := d.dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Close(), l.Close()
	if _, err := d.dial(t.Context(), "tcp", l.Addr().String()); err == nil || strings.Contains(err.Error(), "--wait") {
		t.Errorf("%v, want an error of the connection alone", err)
	}
}
