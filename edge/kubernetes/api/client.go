package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// Timeouts of a connection.
const (
	dialTimeout   = 10 * time.Second
	headerTimeout = 30 * time.Second // from a request to the header of its response
	idleTimeout   = 90 * time.Second
	pingInterval  = 30 * time.Second // of silence, after which the connection is tried
	pingTimeout   = 15 * time.Second
)

// Client sends requests to an API server. Safe for concurrent use.
type Client struct {
	config Config

	mu   sync.Mutex
	ca   []byte // the CA file's content that http uses
	http *http.Client
}

// NewClient returns a Client. It fails if the CA file cannot be read.
func NewClient(c Config) (*Client, error) {
	client := &Client{config: c}
	_, err := client.connections()
	return client, err
}

// Close closes connections that serve no request.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.http.CloseIdleConnections()
}

// get sends a GET. It returns a response with status 200, whose body the caller closes. what
// describes the request in errors.
func (c *Client) get(ctx context.Context, what access, path string, query url.Values) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.config.URL, "/")+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "mcpedge")
	if c.config.TokenFile != "" {
		token, err := os.ReadFile(c.config.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("the token of the service account: %w", err)
		}
		r.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
	}
	connections, err := c.connections()
	if err != nil {
		return nil, err
	}
	resp, err := connections.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, refusal(what, resp)
	}
	return resp, nil
}

// connections returns an HTTP client that verifies the server with the current content of the CA
// file.
func (c *Client) connections() (*http.Client, error) {
	var ca []byte
	if c.config.CAFile != "" {
		var err error
		if ca, err = os.ReadFile(c.config.CAFile); err != nil {
			return nil, fmt.Errorf("the CA of the API server: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.http != nil && bytes.Equal(ca, c.ca) {
		return c.http, nil
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.config.CAFile != "" {
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("the CA of the API server: %s has no certificate in PEM", c.config.CAFile)
		}
	}
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
	c.ca, c.http = ca, &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSClientConfig: secure,
			TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: idleTimeout, ResponseHeaderTimeout: headerTimeout, ForceAttemptHTTP2: true,
			HTTP2: &http.HTTP2Config{SendPingTimeout: pingInterval, PingTimeout: pingTimeout},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // do not send the token to another server
	}
	return c.http, nil
}
