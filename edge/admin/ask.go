package admin

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// maxReason bounds what is read of the reason why an edge is not ready.
const maxReason = 4 << 10

// Ask asks the edge whose admin address is addr, as it is configured, whether it is ready: one without a
// host, or of all interfaces, stands for this machine. It returns nil when it is, else the edge's own
// reason, or why it cannot be asked. ctx bounds it.
func Ask(ctx context.Context, addr string) error {
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://admin"+readyPath, nil)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("the edge at %s does not answer: %w: is it running with this --admin?", addr, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	reason, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason))
	return fmt.Errorf("the edge at %s is not ready: %s: %s", addr, resp.Status, strings.TrimSpace(string(reason)))
}
