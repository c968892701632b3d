package e2e

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` +
	`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`

// badTransport is what is refused whatever the message is. The body of a refusal is an error without
// id, as no message was looked at.
func badTransport(t *testing.T, e *harness.Edge) {
	c := newCaller(t, e.URL)
	for _, b := range []bad{
		{name: "foreign origin", body: hello, headers: []string{"Origin", "https://evil.example"}, status: 403, code: -32600},
		{name: "null origin", body: hello, headers: []string{"Origin", "null"}, status: 403, code: -32600},
		{name: "foreign origin on GET", method: "GET", headers: []string{"Origin", "https://evil.example"}, status: 403, code: -32600},
		{name: "foreign origin on DELETE", method: "DELETE", headers: []string{"Origin", "https://evil.example"}, status: 403, code: -32600},
		{name: "foreign origin on OPTIONS", method: "OPTIONS", headers: []string{"Origin", "https://evil.example"}, status: 403, code: -32600},
		{name: "foreign host", body: hello, headers: []string{"Host", "evil.example"}, status: 403, code: -32600},
		{name: "foreign host and origin", body: hello, headers: []string{"Host", "evil.example", "Origin", "http://evil.example"}, status: 403, code: -32600},
		{name: "own origin", body: hello, headers: []string{"Origin", "http://" + e.Host}, status: 200},
		{name: "own name", body: hello, headers: []string{"Host", "localhost:1"}, status: 200},
		{name: "no content type", body: hello, headers: []string{"Content-Type", ""}, status: 415, code: -32600},
		{name: "wrong content type", body: hello, headers: []string{"Content-Type", "text/plain"}, status: 415, code: -32600},
		{name: "wrong charset", body: hello, headers: []string{"Content-Type", "application/json; charset=latin1"}, status: 415, code: -32600},
		{name: "charset utf-8", body: hello, headers: []string{"Content-Type", "application/json; charset=UTF-8"}, status: 200},
		{name: "content encoding", body: hello, headers: []string{"Content-Encoding", "gzip"}, status: 415, code: -32600},
		{name: "nothing acceptable", body: hello, headers: []string{"Accept", "text/html"}, status: 406, code: -32600},
		{name: "GET without event stream", method: "GET", headers: []string{"Accept", "application/json"}, status: 406, code: -32600},
		{name: "only JSON accepted", body: hello, headers: []string{"Accept", "application/json"}, status: 200},
		{name: "anything accepted", body: hello, headers: []string{"Accept", "*/*"}, status: 200},
		{name: "no accept", body: hello, headers: []string{"Accept", ""}, status: 200},
		{name: "PUT", method: "PUT", status: 405, code: -32600, check: hasHeader("Allow", "POST")},
		{name: "PATCH", method: "PATCH", status: 405, code: -32600, check: hasHeader("Allow", "GET")},
		{name: "OPTIONS", method: "OPTIONS", headers: []string{"Origin", "http://" + e.Host, "Access-Control-Request-Headers", "mcp-method"},
			status: 204, check: hasHeader("Access-Control-Allow-Headers", "mcp-method")},
		{name: "readable by a page", body: hello, headers: []string{"Origin", "http://" + e.Host}, status: 200,
			check: hasHeader("Access-Control-Expose-Headers", "Mcp-Session-Id")},
	} {
		t.Run(b.name, func(t *testing.T) { b.run(t, c) })
	}
	t.Run("another path", func(t *testing.T) {
		elsewhere := newCaller(t, strings.TrimSuffix(e.URL, "/mcp")+"/elsewhere")
		elsewhere.send(t, http.MethodPost, hello).want(http.StatusNotFound)
	})
	t.Run("a slash at the end", func(t *testing.T) {
		newCaller(t, e.URL+"/").send(t, http.MethodPost, hello).want(http.StatusOK)
	})
	t.Run("large body", func(t *testing.T) { tooLarge(t, e, "Content-Length: "+strconv.Itoa(5<<20), largeBody) })
	t.Run("large body in chunks", func(t *testing.T) { tooLarge(t, e, "Transfer-Encoding: chunked", largeChunks) })
	t.Run("large headers", func(t *testing.T) {
		head := "POST /mcp HTTP/1.1\r\nHost: " + e.Host + "\r\nX-Large: " + strings.Repeat("x", 128<<10) + "\r\n\r\n"
		if got := rawRequest(t, e, head, func(io.Writer) {}); got.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("status %d, want 431", got.StatusCode)
		}
	})
	t.Run("body that does not come whole", func(t *testing.T) {
		head := "POST /mcp HTTP/1.1\r\nHost: " + e.Host + "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
		got := rawRequest(t, e, head, func(w io.Writer) { _ = w.(*net.TCPConn).CloseWrite() })
		if got.StatusCode != http.StatusBadRequest {
			t.Errorf("status %d, want 400", got.StatusCode)
		}
	})
}

func largeBody(w io.Writer) { _, _ = io.WriteString(w, strings.Repeat(" ", 5<<20)) }

func largeChunks(w io.Writer) {
	chunk := strconv.FormatInt(1<<20, 16) + "\r\n" + strings.Repeat(" ", 1<<20) + "\r\n"
	for range 5 {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, "0\r\n\r\n")
}

func tooLarge(t *testing.T, e *harness.Edge, length string, body func(io.Writer)) {
	t.Helper()
	head := "POST /mcp HTTP/1.1\r\nHost: " + e.Host + "\r\nContent-Type: application/json\r\n" + length + "\r\n\r\n"
	got := rawRequest(t, e, head, body)
	if got.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("status %d, want 413", got.StatusCode)
	}
	raw, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	if m := parse(t, raw).wantError(t, -32600); m.ID != nil {
		t.Errorf("an id in %s", raw)
	}
}

// rawRequest writes a request without the manners of an HTTP client: the body goes on while the answer
// may be there already.
func rawRequest(t *testing.T, e *harness.Edge, head string, body func(io.Writer)) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", e.Host)
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-written })
	_ = conn.SetDeadline(time.Now().Add(patience))
	go func() {
		defer close(written)
		if _, err := io.WriteString(conn, head); err == nil {
			body(conn)
		}
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// TestAllowedOrigins: what is configured may call, and nobody else.
func TestAllowedOrigins(t *testing.T) {
	_, e := startFixture(t, func(c *config.Config) { c.Listen.Origins = []string{"https://app.example"} })
	c := newCaller(t, e.URL)
	c.send(t, http.MethodPost, hello, "Origin", "https://app.example").want(http.StatusOK)
	c.send(t, http.MethodPost, hello, "Origin", "https://app.example.evil").want(http.StatusForbidden)
}
