package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Exposed returns notes on credentials, and on keys that verify them, that are sent without TLS, so
// that others on the network may read or change them. It cannot know of other encryption, such as a
// mesh.
func (c *Config) Exposed() (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for i := range c.Backends {
		b := &c.Backends[i]
		if b.TLS == nil && !isLocalTarget(b.Target) {
			notes = append(notes, b.exposed(fmt.Sprintf("backends[%d] %s", i, b.Name), b.Target, "set tls of this backend")...)
		}
	}
	for i, b := range c.serviceEntries() {
		if b.TLS == nil && !c.hasTLS(i) {
			notes = append(notes, b.exposed(fmt.Sprintf("kubernetes.backends[%d] %s", i, b.Name), "Services", "set tls of this entry")...)
		}
	}
	if c.Auth == nil {
		return notes
	}
	for i := range c.Auth.Issuers {
		for _, text := range c.Auth.Issuers[i].exposed() {
			note("auth.issuers[%d] %s: %s: use https, unless a mesh or the like encrypts the connection", i, c.Auth.Issuers[i].Issuer, text)
		}
	}
	return notes
}

// hasTLS reports whether another entry gives TLS to every Service that Kubernetes.Backends[i] matches.
func (c *Config) hasTLS(i int) bool {
	name := c.serviceEntries()[i].Name
	return slices.ContainsFunc(c.serviceEntries(), func(b Backend) bool { return b.TLS != nil && covers(b.Name, name) })
}

// covers reports whether a pattern of names of Services matches every name that another pattern
// matches. It may be false for some that do.
func covers(pattern, other string) bool {
	namespace, service, _ := strings.Cut(pattern, "/")
	otherNamespace, otherService, _ := strings.Cut(other, "/")
	part := func(a, b string) bool {
		head, tail, open := strings.Cut(a, "*")
		return a == b || open && !strings.Contains(tail, "*") && len(b) >= len(head)+len(tail) && strings.HasPrefix(b, head) && strings.HasSuffix(b, tail)
	}
	return part(namespace, otherNamespace) && part(service, otherService)
}

// exposed returns notes about credentials that are sent to a backend without TLS. place is the
// place of the backend, to its target.
func (b *Backend) exposed(place, to, advice string) (notes []string) {
	note := func(format string, args ...any) {
		notes = append(notes, place+": "+fmt.Sprintf(format, args...)+": "+advice+", unless a mesh or the like encrypts the connection")
	}
	switch b.Identity {
	case IdentityExchange:
		note("identity: exchange sends callers' access tokens to %s without TLS, where others on the network may read and use them", to)
	case IdentitySigned:
		note("identity: signed sends callers' identities to %s without TLS, where others on the network may read them and change the rest of the call", to)
	}
	for _, key := range slices.Sorted(maps.Keys(b.Metadata)) {
		if b.Metadata[key].File != "" {
			note("metadata.%s is sent to %s without TLS, where others on the network may read and use it", key, to)
		}
	}
	return notes
}

// exposed returns notes on requests to an issuer without TLS.
func (i *Issuer) exposed() (notes []string) {
	switch {
	case i.JWKS == "" && isExposed(i.Issuer):
		notes = append(notes, "its metadata and keys are read without TLS, so that others on the network may give keys of their own and sign tokens")
	case IsURL(i.JWKS) && isExposed(i.JWKS):
		notes = append(notes, "jwks: its keys are read without TLS, so that others on the network may give keys of their own and sign tokens")
	}
	if n := i.Introspection; n != nil && isExposed(n.URL) {
		notes = append(notes, "introspection.url: the edge's secret and callers' tokens are sent without TLS")
	}
	if x := i.Exchange; x != nil && (isExposed(x.URL) || x.URL == "" && isExposed(i.Issuer)) {
		notes = append(notes, "exchange: the edge's secret and callers' tokens are sent without TLS")
	}
	return notes
}

// isExposed reports whether a URL is without TLS and on another machine.
func isExposed(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "http" && !isLocalHost(u.Hostname())
}

// isLocalTarget reports whether a gRPC target is certain to be on this machine.
func isLocalTarget(target string) bool {
	scheme, rest, found := strings.Cut(target, ":")
	switch {
	case found && (scheme == "unix" || scheme == "unix-abstract"):
		return true
	case found && (scheme == "dns" || scheme == "passthrough" || scheme == "ipv4" || scheme == "ipv6"):
		if after, absolute := strings.CutPrefix(rest, "//"); absolute {
			_, rest, _ = strings.Cut(after, "/") // behind the authority
		}
		target = rest
	}
	for _, address := range strings.Split(target, ",") {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = strings.Trim(address, "[]")
		}
		if !isLocalHost(host) {
			return false
		}
	}
	return true
}

func isLocalHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
