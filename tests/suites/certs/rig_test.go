// Package certs drives a whole edge over TLS: listeners and backends whose certificates and CAs are exchanged while
// they are used, clients with certificates and without, and the end of an edge.
package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestMain fails the run when a goroutine outlives the edges, backends and clients of the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(await.Leaks(m)) }

const patience = await.Patience

// The protocols of clients.
var protocols = []string{"HTTP/1.1", "HTTP/2.0"}

// service is a backend with a tool `echo`, and a tool `gate` that tells started and waits for open.
type service struct {
	*capability.Server
	started, open chan struct{}
}

func newService(options ...capability.Option) *service {
	s := &service{started: make(chan struct{}, 10), open: make(chan struct{})}
	s.Server = capability.New("fixture", "1", append(options, capability.WithLogger(slog.New(slog.DiscardHandler)))...)
	capability.AddTool(s.Server, "echo", "Says it again",
		func(_ context.Context, _ *capability.Call, in struct {
			Text string `json:"text"`
		}) (string, error) {
			return in.Text, nil
		}, capability.ReadOnly())
	capability.AddTool(s.Server, "gate", "Waits for the test",
		func(ctx context.Context, c *capability.Call, _ struct{}) (string, error) {
			c.Progress(1, 2, "waiting")
			s.started <- struct{}{}
			select {
			case <-s.open:
				return "passed", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
	return s
}

// secured gives both listeners certificates of ca that are in files, and returns their folder. clients issue the
// certificates of clients; none: none are asked for.
func secured(t *testing.T, cfg *config.Config, ca *authority.CA, clients ...*authority.CA) *authority.Mount {
	t.Helper()
	m := authority.NewMount(t, listenerFiles(ca.Server(t), clients...))
	cfg.Listen.TLS = config.ListenerTLS{Cert: m.Path("tls.crt"), Key: m.Path("tls.key")}
	if len(clients) > 0 {
		cfg.Listen.TLS.ClientCA = m.Path("ca.crt")
	}
	cfg.Admin.TLS = cfg.Listen.TLS
	return m
}

func listenerFiles(p authority.Pair, clients ...*authority.CA) map[string][]byte {
	return map[string][]byte{"tls.crt": p.Cert, "tls.key": p.Key, "ca.crt": authority.Bundle(clients...)}
}

// client is an HTTP client over one protocol. It keeps connections unless fresh is said.
type client struct {
	*http.Client
	transport *http.Transport
	protocol  string
}

// newClient trusts roots; pair may be nil: no certificate.
func newClient(t *testing.T, protocol string, roots *x509.CertPool, pair *authority.Pair) *client {
	t.Helper()
	conf := &tls.Config{RootCAs: roots}
	if pair != nil {
		conf.Certificates = []tls.Certificate{pair.TLS(t)}
	}
	return newClientWith(t, protocol, conf)
}

func newClientWith(t *testing.T, protocol string, conf *tls.Config) *client {
	transport := &http.Transport{TLSClientConfig: conf, Protocols: &http.Protocols{}, DisableCompression: true}
	transport.Protocols.SetHTTP1(protocol == "HTTP/1.1")
	transport.Protocols.SetHTTP2(protocol == "HTTP/2.0")
	t.Cleanup(transport.CloseIdleConnections)
	return &client{&http.Client{Transport: transport, Timeout: patience}, transport, protocol}
}

// echo calls the tool and returns what is wrong.
func (c *client) echo(url, text string) error {
	state, err := c.call(url, "echo", fmt.Sprintf(`{"text":%q}`, text), text)
	if err == nil && state == nil {
		return fmt.Errorf("not over TLS")
	}
	return err
}

// serial calls the tool and returns which certificate the edge has shown for it.
func (c *client) serial(url string) (string, error) {
	state, err := c.call(url, "echo", `{"text":"x"}`, "x")
	if err != nil {
		return "", err
	}
	return state.PeerCertificates[0].SerialNumber.String(), nil
}

// call calls a tool in 2026-07-28 and holds its text against want.
func (c *client) call(url, tool, arguments, want string) (*tls.ConnectionState, error) {
	resp, err := c.begin(url, tool, arguments)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("after status %d: %w", resp.StatusCode, err)
	}
	text := string(body)
	if i := strings.LastIndex(text, "data: "); i >= 0 { // the last event has the result
		text = text[i+len("data: "):]
	}
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil || len(m.Result.Content) != 1 || m.Result.Content[0].Text != want {
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	if resp.Proto != c.protocol {
		return nil, fmt.Errorf("answered over %s, want %s", resp.Proto, c.protocol)
	}
	return resp.TLS, nil
}

// begin calls a tool and returns its response, not yet read.
func (c *client) begin(url, tool, arguments string) (*http.Response, error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":1,`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`+
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}}`, tool, arguments)
	q, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		q.Header.Set(name, value)
	}
	return c.Do(q)
}

// get returns the status and the body of a path.
func (c *client) get(url string) (int, string, error) {
	resp, err := c.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// stream opens the standalone stream of a new session. The test ends it.
func (c *client) stream(t *testing.T, url string) io.ReadCloser {
	t.Helper()
	patient := *c.Client
	patient.Timeout = 0
	send := func(method, session, body string) *http.Response {
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		q, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			q.Header.Set("Mcp-Session-Id", session)
			q.Header.Set("MCP-Protocol-Version", "2025-11-25")
		}
		if method == http.MethodGet {
			q.Header.Set("Accept", "text/event-stream")
			q.Header.Del("Content-Type")
		}
		resp, err := patient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	resp := send(http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")
	resp = send(http.MethodPost, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	_ = resp.Body.Close()
	if resp = send(http.MethodGet, id, ""); resp.StatusCode != http.StatusOK {
		t.Fatalf("GET: status %d", resp.StatusCode)
	}
	return resp.Body
}

// metric is the value of a series of the edge; "": it is not there.
func metric(t *testing.T, c *client, e *harness.Edge, series string) string {
	t.Helper()
	_, body, err := c.get("https://" + e.Admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(body) {
		if value, found := strings.CutPrefix(line, series+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// soon is a deadline for a connection of a test.
func soon() time.Time { return time.Now().Add(patience) }
