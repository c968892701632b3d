package serve

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"

	"github.com/mcpedge/mcpedge/edge/config"
)

// greet prints the endpoint and the first steps if only the demo is served, and the URL of the page
// of calls if Dev is set. It suggests only steps for which the reader has the credentials.
func greet(w io.Writer, cfg *config.Config, demo bool, endpoint, admin string) {
	here := onThisMachine(endpoint)
	switch {
	case !demo:
	case cfg.Auth != nil && !cfg.Auth.Optional:
		_, _ = fmt.Fprintf(w, banner+lockedBanner, here, here, here)
	default:
		_, _ = fmt.Fprintf(w, banner+openBanner, here, here, here)
	}
	if cfg.Admin.Dev && cfg.Opens(config.OpenDev) {
		_, _ = fmt.Fprintf(w, devBanner, cfg.AdminScheme(), admin)
	}
}

// onThisMachine returns the endpoint's URL for clients on this machine. It replaces an unspecified
// address by localhost.
func onThisMachine(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort("localhost", u.Port())
	}
	return u.String()
}

// banner is the beginning of openBanner and lockedBanner.
const banner = `
MCP Edge is serving the bundled demo (tools, resources, prompts) at

    %s

`

const openBanner = `Paste this into your client's configuration:

    {"mcpServers": {"mcpedge": {"type": "http", "url": %q}}}

or look around with the MCP Inspector:

    npx @modelcontextprotocol/inspector --cli %s --transport http --method tools/list

`

const lockedBanner = `It requires authentication. A client with OAuth logs its user in at the issuer, if that is an authorization server:

    {"mcpServers": {"mcpedge": {"type": "http", "url": %q}}}

With an access token or an API key in a file, call a tool:

    mcpedge call --token-file FILE %s calculator_arithmetic '{"expression":"19 + 23"}'

`

// devBanner has the URL of the page of calls.
const devBanner = `Watch its calls, each from the client's request to the backend's handler, at

    %s://%s/dev

`
