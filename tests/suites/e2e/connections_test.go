package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestTooManyConnections: one too many is told so, and the admin address is not concerned.
func TestTooManyConnections(t *testing.T) {
	harness.OneProcess(t)
	_, e := startFixture(t, func(c *config.Config) { c.Clients.Connections = 5 })
	for range 5 {
		silent(t, e.Host, "")
	}
	await.Until(t, "the next one is refused", func() bool {
		c := silent(t, e.Host, "")
		answer, _ := io.ReadAll(c)
		_ = c.Close()
		return strings.HasPrefix(string(answer), "HTTP/1.1 503 ") && strings.Contains(string(answer), "Retry-After: 1\r\n") &&
			strings.Contains(string(answer), `"error":{`)
	})
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		r, err := http.Get("http://" + e.Admin + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
		if path == "/metrics" && !strings.Contains(string(body), `mcpedge_bound="clients.connections"`) {
			t.Error("the bound is not among the metrics")
		}
	}
}

// TestSessionsOfAnAddress: one address begins no more than it may.
func TestSessionsOfAnAddress(t *testing.T) {
	harness.OneProcess(t)
	_, e := startFixture(t, func(c *config.Config) { c.Advanced.SessionsPerAddress = 2 })
	for range 2 {
		newSession(t, e.URL, vNov)
	}
	body := envelope("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	r, err := http.Post(e.URL, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, _ := io.ReadAll(r.Body)
	if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" || !strings.Contains(string(text), "your address has begun 2 sessions") {
		t.Errorf("%d, %v: %s", r.StatusCode, r.Header, text)
	}
}
