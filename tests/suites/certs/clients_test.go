package certs

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// start runs a backend and an edge before it, with certificates of ca.
func start(t *testing.T, ca *authority.CA, adjust func(*config.Config), clients ...*authority.CA) (*service, *harness.Edge, *authority.Mount) {
	t.Helper()
	s := newService()
	cfg := harness.Config(harness.Serve(t, "fixture", s.Server).Backend())
	m := secured(t, &cfg, ca, clients...)
	if adjust != nil {
		adjust(&cfg)
	}
	return s, harness.Start(t, cfg), m
}

// Both listeners speak TLS, with both versions of HTTP, and the URL that is told says so.
func TestListeners(t *testing.T) {
	ca := authority.New(t, "ca")
	_, e, _ := start(t, ca, nil)
	if e.URL != "https://"+e.Host+"/mcp" {
		t.Errorf("the endpoint is told as %s", e.URL)
	}
	for _, protocol := range protocols {
		c := newClient(t, protocol, authority.Pool(ca), nil)
		if err := c.echo(e.URL, "hello"); err != nil {
			t.Error(err)
		}
		for path, want := range map[string]string{
			"/healthz": "ok", "/readyz": "ready", "/metrics": "mcpedge_tls_expiry_seconds", "/v1/tools": `"echo"`, "/openapi.json": "swagger",
		} {
			status, body, err := c.get("https://" + e.Admin + path)
			if err != nil || status != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s over %s: %d, %v: %.200s", path, protocol, status, err, body)
			}
		}
		resp, err := c.Post("https://"+e.Admin+"/v1/tools/echo:call", "application/json", strings.NewReader(`{"arguments":{"text":"hi"}}`))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.Proto != protocol || !strings.Contains(string(body), `"hi"`) {
			t.Errorf("over %s: %s", resp.Proto, body)
		}
		status, body2, err := c.get("https://" + e.Host + "/")
		if err != nil || status != http.StatusOK || !strings.Contains(body2, "https://"+e.Host+"/mcp") {
			t.Errorf("the page: %d, %v: %s", status, err, body2)
		}
	}
}

// A page of the edge's own host may call, one that was not loaded over TLS only from loopback.
func TestOrigins(t *testing.T) {
	ca := authority.New(t, "ca")
	_, e, _ := start(t, ca, func(c *config.Config) { c.Listen.Hosts = []string{"127.0.0.1", "mcp.example.com"} })
	c := newClient(t, "HTTP/1.1", authority.Pool(ca), nil)
	for origin, want := range map[string]int{
		"https://mcp.example.com": 204, "http://mcp.example.com": 403, "http://127.0.0.1:3000": 204, "https://evil.example": 403,
	} {
		q, _ := http.NewRequest(http.MethodOptions, e.URL, nil)
		q.Header.Set("Origin", origin)
		resp, err := c.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", origin, resp.StatusCode, want)
		}
	}
}

// Where client certificates are demanded, the MCP listener serves nobody else; the admin listener answers probes.
func TestClientCertificates(t *testing.T) {
	ca, clients, other := authority.New(t, "ca"), authority.New(t, "clients"), authority.New(t, "other")
	_, e, _ := start(t, ca, nil, clients)
	good, stranger, late := clients.Client(t), other.Client(t), clients.Client(t, authority.Expired)
	for _, protocol := range protocols {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			for name, row := range map[string]struct {
				pair *authority.Pair
				// mcp: served by the MCP listener. probes and rest are the admin listener's statuses; 0: no handshake.
				mcp          bool
				probes, rest int
			}{
				"accepted": {&good, true, 200, 200},
				"none":     {nil, false, 200, 403},
				"stranger": {&stranger, false, 0, 0},
				"expired":  {&late, false, 0, 0},
			} {
				t.Run(fmt.Sprintf("%s/%s/%s", protocol, tls.VersionName(version), name), func(t *testing.T) {
					conf := &tls.Config{RootCAs: authority.Pool(ca), MaxVersion: version}
					if row.pair != nil { // sent whatever CAs the edge names
						pair := row.pair.TLS(t)
						conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
					}
					c := newClientWith(t, protocol, conf)
					if err := c.echo(e.URL, "x"); (err == nil) != row.mcp {
						t.Errorf("the MCP listener: %v", err)
					}
					for path, want := range map[string]int{
						"/healthz": row.probes, "/readyz": row.probes, "/metrics": row.rest, "/v1/sessions": row.rest, "/nothing": row.rest,
					} {
						if path == "/nothing" && want == 200 {
							want = 404
						}
						if status, body, _ := c.get("https://" + e.Admin + path); status != want {
							t.Errorf("%s: %d, want %d: %s", path, status, want, body)
						}
					}
				})
			}
		}
	}
	_, body, _ := newClient(t, "HTTP/2.0", authority.Pool(ca), nil).get("https://" + e.Admin + "/v1/tools")
	if want := `"message":"a client certificate is required: send one issued by a CA of admin.tls.client-ca"`; !strings.Contains(strings.ReplaceAll(body, ": \"", ":\""), strings.ReplaceAll(want, ": \"", ":\"")) {
		t.Errorf("who has none is told %s", body)
	}
}

// Who speaks plain HTTP to a listener that does not is told so.
func TestPlainHTTP(t *testing.T) {
	ca := authority.New(t, "ca")
	_, e, _ := start(t, ca, nil)
	for _, addr := range []string{e.Host, e.Admin} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			q, _ := http.NewRequest(method, "http://"+addr+"/mcp", strings.NewReader("{}"))
			transport := &http.Transport{DisableKeepAlives: true}
			resp, err := transport.RoundTrip(q)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "Client sent an HTTP request to an HTTPS server") {
				t.Errorf("%s: %d: %s", method, resp.StatusCode, body)
			}
		}
	}
}

// One connection too many is told so over TLS, also to a client that prefers HTTP/2.
func TestTooManyConnections(t *testing.T) {
	ca := authority.New(t, "ca")
	_, e, _ := start(t, ca, func(c *config.Config) { c.Clients.Connections = 3 })
	for range 3 {
		c, err := net.Dial("tcp", e.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	await.Until(t, "the next one is refused", func() bool {
		conf := &tls.Config{RootCAs: authority.Pool(ca), ServerName: "127.0.0.1", NextProtos: []string{"h2", "http/1.1"}}
		c, err := tls.Dial("tcp", e.Host, conf)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(soon())
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		return err == nil && resp.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(body), "your address has reached its limit of connections")
	})
}
