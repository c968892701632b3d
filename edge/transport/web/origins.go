package web

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// callerPolicy decides which hosts and origins may call, against DNS rebinding and foreign web
// pages.
type callerPolicy struct {
	hosts   map[string]bool // empty: any
	origins map[string]bool
	any     bool
	linked  bool
	// hostsKey and originsKey are those of Options.
	hostsKey, originsKey string
}

func newCallerPolicy(o Options) callerPolicy {
	p := callerPolicy{hosts: map[string]bool{}, origins: map[string]bool{}, linked: o.Linked, hostsKey: o.HostsKey, originsKey: o.OriginsKey}
	for _, h := range o.Hosts {
		p.hosts[strings.ToLower(h)] = true
	}
	for _, origin := range o.Origins {
		if origin == "*" {
			p.any = true
		}
		p.origins[strings.ToLower(strings.TrimSuffix(origin, "/"))] = true
	}
	return p
}

// Reasons of a refused host or origin: it is not an allowed one, a page of another site made the
// browser send the request, or it is in a form that no client sends.
const (
	ReasonHost      = "host"
	ReasonOrigin    = "origin"
	ReasonSite      = "site"
	ReasonMalformed = "malformed"
)

// Reasons are all of them.
var Reasons = []string{ReasonHost, ReasonOrigin, ReasonSite, ReasonMalformed}

// check returns for which of the Reasons a request is refused, and the message to its caller; both
// are empty if it is allowed.
func (p callerPolicy) check(r *http.Request) (reason, why string) {
	if reason, why = p.checkHost(r); why != "" {
		return reason, why
	}
	if n := len(r.Header.Values("Origin")); n > 1 {
		return ReasonMalformed, "origin was sent " + strconv.Itoa(n) + " times: send it once"
	}
	origin := r.Header.Get("Origin")
	switch {
	case origin == "":
		return p.checkSite(r)
	case p.allows(origin, r.Host, r.TLS != nil):
		return "", ""
	}
	why = "origin " + Quoted(origin) + " is not allowed"
	if p.originsKey != "" {
		why += ": if its pages may call, add it to the edge's setting " + p.originsKey
	}
	return ReasonOrigin, why
}

// checkHost refuses names that the edge does not have, and texts that no client sends: another
// server might read another name in them.
func (p callerPolicy) checkHost(r *http.Request) (reason, why string) {
	if also := r.Header.Values("Host"); len(also) > 1 || len(also) == 1 && !strings.EqualFold(also[0], r.Host) {
		return ReasonMalformed, "host was sent more than once: send it once" // of HTTP/2, beside :authority
	}
	if r.Host == "" && len(p.hosts) == 0 {
		return "", ""
	}
	name, ok := hostname(r.Host)
	if !ok {
		return ReasonMalformed, "host " + Quoted(r.Host) + " is malformed: send a name or an address, with a port or without a colon"
	}
	if len(p.hosts) == 0 || p.hosts[name] {
		return "", ""
	}
	why = "host " + Quoted(r.Host) + " is not served here: call the edge by a name it is configured for"
	if p.hostsKey != "" {
		why += ", or add " + name + " to its setting " + p.hostsKey
	}
	return ReasonHost, why
}

// checkSite refuses requests that a page of another site makes a browser send without an Origin: a
// link, a picture, a form's GET (Fetch Metadata, section 2.2). Such a request has effects or costs,
// although the page cannot read the response.
func (p callerPolicy) checkSite(r *http.Request) (reason, why string) {
	h := r.Header
	if p.linked && r.Method == http.MethodGet && h.Get("Sec-Fetch-Mode") == "navigate" && h.Get("Sec-Fetch-Dest") == "document" {
		return "", "" // a link to a page, in a window of its own
	}
	for _, site := range h.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" && !p.any {
			return ReasonSite, "a page of another site may not call (Sec-Fetch-Site: " + Quoted(site) + "): open the address itself"
		}
	}
	return "", ""
}

// allows reports whether a page of the origin may call an edge that it addresses as host. If both
// are the same name, that proves nothing, because an attacker can make the name resolve to the
// edge; an IP address cannot be rebound. If the edge was called over TLS, a page that was not
// loaded over TLS may come from anyone on the network: it is only allowed if configured, or on
// loopback. An origin that no browser sends is only allowed by "*".
func (p callerPolicy) allows(origin, host string, secure bool) bool {
	if p.any {
		return true
	}
	scheme, authority, found := strings.Cut(origin, "://")
	name, ok := hostname(authority)
	if !found || !ok || !isScheme(scheme) || origin != strings.ToLower(origin) {
		return false
	}
	if p.origins[origin] {
		return true
	}
	if secure && scheme == "http" && !loopback(name) {
		return false
	}
	if len(p.hosts) > 0 {
		return p.hosts[name]
	}
	return strings.EqualFold(authority, host) && net.ParseIP(name) != nil
}

// isScheme reports whether a text is a scheme in lower case (RFC 3986, section 3.1).
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		if letter := c >= 'a' && c <= 'z'; !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}

// loopback reports whether a browser takes a name in a URL for this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// cors sets the response headers of CORS. check must have allowed the origin.
func (p callerPolicy) cors(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After")
}

// preflight answers a browser's OPTIONS.
func preflight(w http.ResponseWriter, r *http.Request, allowed string) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", allowed)
	if want := r.Header.Get("Access-Control-Request-Headers"); want != "" {
		h.Set("Access-Control-Allow-Headers", want)
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// hostname returns the name or address, in lower case, of HOST, HOST:PORT, [IPv6] or [IPv6]:PORT.
// ok is false for anything else, such as a user, an empty port, a zone, or a trailing dot.
func hostname(hostport string) (name string, ok bool) {
	rest := hostport
	if after, bracket := strings.CutPrefix(hostport, "["); bracket {
		name, rest, ok = strings.Cut(after, "]")
		ip, err := netip.ParseAddr(name)
		if !ok || err != nil || !ip.Is6() || ip.Zone() != "" {
			return "", false
		}
	} else if at := strings.IndexByte(hostport, ':'); at >= 0 {
		name, rest = hostport[:at], hostport[at:]
	} else {
		name, rest = hostport, ""
	}
	if rest != "" {
		port, colon := strings.CutPrefix(rest, ":")
		if n, err := strconv.ParseUint(port, 10, 16); !colon || err != nil || n == 0 {
			return "", false
		}
	}
	if hostport[:min(1, len(hostport))] != "[" && !isName(name) {
		return "", false
	}
	return strings.ToLower(name), true
}

// isName reports whether a text is a host's name, or an IPv4 address, of letters, digits, dots
// between them, - and _.
func isName(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
}

// Quoted quotes a text of a client for messages to it, cut off after 100 bytes.
func Quoted(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return `"` + s + `"`
}
