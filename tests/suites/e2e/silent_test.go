package e2e

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// silent sends a piece of a request, and no more.
func silent(t *testing.T, addr, piece string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, piece); err != nil {
		t.Fatal(err)
	}
	return c
}

const announcing = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"

// TestUnreadBodies: what is refused is answered although its body never comes.
func TestUnreadBodies(t *testing.T) {
	harness.OneProcess(t)
	_, e := startFixture(t)
	for _, q := range []struct{ addr, head, want string }{
		{e.Host, "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100\r\n\r\n", "403"},
		{e.Host, "POST /nothing HTTP/1.1\r\n" + announcing, "404"},
		{e.Host, "PUT /mcp HTTP/1.1\r\n" + announcing, "405"},
		{e.Host, "POST /mcp HTTP/1.1\r\nAccept: text/html\r\n" + announcing, "406"},
		{e.Host, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n", "415"},
		{e.Host, "DELETE /mcp HTTP/1.1\r\n" + announcing, "400"},
		{e.Host, "GET /mcp HTTP/1.1\r\n" + announcing, "405"},
		{e.Host, "OPTIONS /mcp HTTP/1.1\r\n" + announcing, "204"},
		{e.Admin, "GET /readyz HTTP/1.1\r\n" + announcing, "200"},
		{e.Admin, "GET /v1/sessions HTTP/1.1\r\n" + announcing, "200"},
		{e.Admin, "DELETE /v1/sessions/none HTTP/1.1\r\n" + announcing, "404"},
		{e.Admin, "POST /nothing HTTP/1.1\r\n" + announcing, "404"},
		{e.Admin, "POST /healthz HTTP/1.1\r\n" + announcing, "405"},
	} {
		c := silent(t, q.addr, q.head)
		_ = c.SetReadDeadline(time.Now().Add(patience))
		b := make([]byte, 12)
		if _, err := io.ReadFull(c, b); err != nil || !strings.HasSuffix(string(b), q.want) {
			t.Errorf("%.40q: %q, %v, want %s", q.head, b, err, q.want)
		}
	}
}

// TestSilentClientsDoNotHoldUpTheEnd: an edge that is told to stop waits for nobody who does not send his request.
func TestSilentClientsDoNotHoldUpTheEnd(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	_, e := startFixture(t)
	for _, addr := range []string{e.Host, e.Admin} {
		silent(t, addr, "")
		silent(t, addr, "POST /mcp HT")
		for range 3 {
			silent(t, addr, "POST /mcp HTTP/1.1\r\n"+announcing)
			silent(t, addr, "POST /v1/tools:call HTTP/1.1\r\n"+announcing+"{")
			silent(t, addr, "DELETE /mcp HTTP/1.1\r\n"+announcing)
			silent(t, addr, "GET /readyz HTTP/1.1\r\n"+announcing)
		}
	}
	// The frames are SETTINGS, and HEADERS of a POST to /mcp without its end: static entries of HPACK, literals.
	silent(t, e.Host, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+"\x00\x00\x00\x04\x00\x00\x00\x00\x00"+
		"\x00\x00\x2a\x01\x04\x00\x00\x00\x01"+"\x83\x86\x04\x04/mcp\x01\x09localhost\x0f\x10\x10application/json")
	e.Stop()
	e.AwaitEnd(t)
}
