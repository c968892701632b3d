//go:build haproxy

package compose

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestHAProxyNamesItsClients: edges count anonymous sessions by the address of the client, which cannot take another by a header.
func TestHAProxyNamesItsClients(t *testing.T) {
	p := startProxied(t, "MCPEDGE_ADVANCED_SESSIONS_PER_ADDRESS=1")
	edges := len(p.project.edges()) // each counts for itself
	for _, client := range []struct {
		address string
		headers []string
	}{
		{"127.0.0.2", nil},
		{"127.0.0.3", []string{"X-Forwarded-For"}},
		{"127.0.0.4", []string{"Forwarded"}},
		{"127.0.0.5", []string{"X-Forwarded-For", "Forwarded"}},
	} {
		began := 0
		for n := range 4 * edges {
			switch status := p.initialize(client.address, client.headers, n); status {
			case http.StatusOK:
				began++
			case http.StatusTooManyRequests:
			default:
				t.Errorf("%s is answered %d", client.address, status)
			}
		}
		if began != edges {
			t.Errorf("%s, which sends %q, began %d sessions, want %d", client.address, client.headers, began, edges)
		}
	}
}

// initialize asks for a session from an address of this machine, with headers that say that it has another, and returns the status.
func (p *proxied) initialize(from string, headers []string, n int) int {
	p.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	claimed := net.IPv4(203, 0, 113, byte(n)).String()
	for _, name := range headers {
		value := claimed
		if name == "Forwarded" {
			value = "for=" + claimed
		}
		r.Header.Set(name, value)
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
