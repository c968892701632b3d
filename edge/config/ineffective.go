package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Ineffective returns notes on settings that have no effect, or not the intended one. It returns
// nil if there are none.
func (c *Config) Ineffective() (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, list := range []struct {
		key   string
		hosts []string
	}{{"listen.hosts", c.Listen.Hosts}, {"admin.hosts", c.Admin.Hosts}} {
		for i, host := range list.hosts {
			if why := notHost(host); why != "" {
				note("%s[%d]: %q matches no Host: %s", list.key, i, host, why)
			}
		}
	}
	for i, origin := range c.Listen.Origins {
		if why := notOrigin(origin); why != "" {
			note("listen.origins[%d]: %q matches no Origin: %s", i, origin, why)
		}
	}
	if u, err := url.Parse(c.Listen.PublicURL); c.Listen.PublicURL != "" && err == nil {
		switch path := strings.TrimRight(u.Path, "/"); path {
		case "":
		case "/mcp", "/sse":
			note("listen.public-url: %q names an endpoint, to which the edge adds the path of the endpoint: the URL given to clients would be %s/mcp; write it without %s", c.Listen.PublicURL, strings.TrimRight(c.Listen.PublicURL, "/"), path)
		default:
			note("listen.public-url: %q has a path: clients call %s/mcp, so a proxy has to take %s away before it hands requests on", c.Listen.PublicURL, strings.TrimRight(c.Listen.PublicURL, "/"), path)
		}
	}
	if rest, plain := strings.CutPrefix(c.Listen.PublicURL, "http://"); plain && c.Listen.TLS.Enabled() {
		note("listen.public-url: %q is without TLS, while listen.tls makes the address speak TLS only: write https://%s, unless a proxy before it takes requests without TLS", c.Listen.PublicURL, rest)
	}
	for i := range c.Backends {
		if b := &c.Backends[i]; withoutPort(b.Target) {
			note("backends[%d] %s: target %q has no port: gRPC takes 443", i, b.Name, b.Target)
		}
	}
	for _, e := range c.Overlay().Tools().Entries {
		if len(e.Name) > modelName {
			note("%s: name: %q has %d characters: some models accept at most %d, and refuse all tools together for a longer one", e.Place, e.Name, len(e.Name), modelName)
		}
	}
	if c.Root == RootOff && !c.hasSets() {
		note("root: off, and there are no sets: no path serves MCP: define sets, or remove root")
	}
	if c.locks() && c.Kubernetes != nil {
		note("catalog-lock: snapshots have no backends that are found in Kubernetes: their tools are compared only if definitions of theirs were added to %s", c.CatalogLock.File)
	}
	notes = slices.Concat(notes, c.superseded(), c.unwatched(), c.overridden(), c.ownedGroups())
	return append(notes, c.unobtainable()...)
}

// modelName is the maximum length of a tool's name that all model interfaces accept, see
// docs/schemas.md.
const modelName = 64

// notHost returns why a name cannot be the host of a Host header, or an empty string if it can.
func notHost(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	if u, err := url.Parse(host); err == nil && strings.Contains(host, "://") {
		return "write the name alone, " + u.Hostname()
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		return "ports are not compared: write " + name
	}
	if strings.ContainsAny(host, "*/[]:@ ") {
		return "write a name or an address, such as mcp.example.com; there are no patterns"
	}
	return ""
}

// notOrigin returns why a browser sends no such Origin, or an empty string if it may.
func notOrigin(origin string) string {
	if origin == "*" {
		return ""
	}
	u, err := url.Parse(origin)
	switch {
	case err != nil || u.Scheme == "" || u.Host == "":
		return "write it with its scheme, such as https://app.example"
	case strings.Contains(origin, "*"):
		return "write whole origins; there are no patterns but * alone"
	case strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Sprintf("an origin has no path: write %s://%s", u.Scheme, u.Host)
	case u.Scheme == "https" && u.Port() == "443", u.Scheme == "http" && u.Port() == "80":
		return fmt.Sprintf("browsers leave out the port of the scheme: write %s://%s", u.Scheme, u.Hostname())
	}
	return ""
}

// withoutPort reports whether a gRPC target has no port, so that gRPC chooses one.
func withoutPort(target string) bool {
	rest := strings.TrimPrefix(target, "dns:")
	if strings.HasPrefix(rest, "//") { // followed by an authority, which may be empty
		_, rest, _ = strings.Cut(rest[2:], "/")
	}
	if rest == "" || strings.Contains(rest, "/") || strings.HasPrefix(target, "unix") || strings.HasPrefix(target, "passthrough:") {
		return false
	}
	if _, err := netip.ParseAddr(rest); err == nil {
		return true
	}
	return !strings.Contains(rest, ":")
}
