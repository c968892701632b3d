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

// maxReason bounds what is read of the reason why an edge is not ready.
const maxReason = 4 << 10

// Ask asks the edge whose admin address is addr, as it is configured, whether it is ready: one without a
// host, or of all interfaces, stands for this machine. secure: the address speaks TLS, whose certificate is not
// verified, since it may be for other names than this machine's, and nothing is told to whoever answers. Ask returns
// nil when the edge is ready, else its own reason, or why it cannot be asked. ctx bounds it.
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
		return fmt.Errorf("the edge at %s does not answer: %w: is it running with this --admin, and with admin-tls only if this has it?", addr, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	reason, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason))
	return fmt.Errorf("the edge at %s is not ready: %s: %s", addr, resp.Status, strings.TrimSpace(string(reason)))
}
