package compose

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"
)

// forwardLines are what the proxy does to the headers that name its clients, in any order.
var forwardLines = []string{"http-request del-header Forwarded", "http-request del-header X-Forwarded-For", "option forwardfor"}

// Both configurations of the proxy name its clients, and take out what clients say of themselves.
func TestProxyNamesItsClients(t *testing.T) {
	for _, file := range []string{proxyConfig, "deploy/haproxy-local.cfg"} {
		for _, line := range forwardLines {
			if !regexp.MustCompile(`(?m)^\s*` + line + `$`).MatchString(read(t, file)) {
				t.Errorf("%s has no line %s", file, line)
			}
		}
	}
}

// The edges believe the proxy, whichever of its default pools Docker takes the network's addresses from, and nobody else's address is
// believed: a public one.
func TestEdgesTrustTheProxy(t *testing.T) {
	p := load(t)
	for _, name := range p.edges() {
		var trusted []netip.Prefix
		for text := range strings.SplitSeq(*p.Services[name].Environment["MCPEDGE_LISTEN_TRUSTED_PROXIES"], ",") {
			trusted = append(trusted, netip.MustParsePrefix(text))
		}
		for address, want := range map[string]bool{"172.18.0.5": true, "172.31.255.1": true, "192.168.16.2": true, "10.1.2.3": true, "203.0.113.7": false} {
			got := false
			for _, network := range trusted {
				got = got || network.Contains(netip.MustParseAddr(address))
			}
			if got != want {
				t.Errorf("%s: a proxy at %s is trusted: %t, by %v", name, address, got, trusted)
			}
		}
	}
}
