package admin

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// maxReason bounds the bytes that are read of the reason why an edge is not ready.
const maxReason = 4 << 10

// plainOverTLS is part of the response of package net/http to a request without TLS at a listener
// with TLS.
const plainOverTLS = "HTTP request to an HTTPS server"

// Ask requests the readiness of the edge with the admin address addr, as configured. An address
// without a host, or with that of all interfaces, stands for this machine. secure means that the
// address uses TLS. The certificate is not verified, because it may be for other names, and the
// request has no secrets. Ask returns nil if the edge is ready, and otherwise the edge's reason or
// the error of the request. ctx bounds it.
func Ask(ctx context.Context, addr string, secure bool) error {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // #nosec G402 -- a probe of the same machine, see above
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://admin"+readyPath, nil)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("the edge at %s does not answer: %w: is it running with this --admin, and do both have admin.tls, or neither?", addr, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	reason, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason))
	if resp.StatusCode == http.StatusBadRequest && strings.Contains(string(reason), plainOverTLS) {
		return fmt.Errorf("the edge at %s speaks TLS: give --config with its file of settings, or set MCPEDGE_ADMIN_TLS_CERT and MCPEDGE_ADMIN_TLS_KEY as it does", addr)
	}
	return fmt.Errorf("the edge at %s is not ready: %s: %s", addr, resp.Status, strings.TrimSpace(string(reason)))
}
