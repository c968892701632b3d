package web

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// callerPolicy decides which hosts and origins may call, against DNS rebinding and foreign web pages.
type callerPolicy struct {
	hosts   map[string]bool // empty: any
	origins map[string]bool
	any     bool
}

func newCallerPolicy(o Options) callerPolicy {
	p := callerPolicy{hosts: map[string]bool{}, origins: map[string]bool{}}
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

// check returns why a request is refused; empty: it is allowed.
func (p callerPolicy) check(r *http.Request) string {
	if len(p.hosts) > 0 && !p.hosts[hostname(r.Host)] {
		return "host " + Quoted(r.Host) + " is not served here: call the edge by a name it is configured for"
	}
	if n := len(r.Header.Values("Origin")); n > 1 {
		return "origin was sent " + strconv.Itoa(n) + " times: send it once"
	}
	origin := r.Header.Get("Origin")
	if origin == "" || p.allows(origin, r.Host, r.TLS != nil) {
		return ""
	}
	return "origin " + Quoted(origin) + " is not allowed: add it to the edge's allowed origins"
}

// allows reports whether a page of the origin may call an edge that it addresses as host. That the two are equal
// proves nothing for a name, which an attacker can have resolve to the edge; an IP address cannot be rebound. Of an
// edge that was called over TLS, a page that was not loaded over TLS may be anybody's on the network: it is allowed only
// by its name, or where it is on loopback.
func (p callerPolicy) allows(origin, host string, secure bool) bool {
	if p.any || p.origins[strings.ToLower(origin)] {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || secure && u.Scheme == "http" && !loopback(u.Hostname()) {
		return false
	}
	if len(p.hosts) > 0 {
		return p.hosts[strings.ToLower(u.Hostname())]
	}
	return strings.EqualFold(u.Host, host) && net.ParseIP(u.Hostname()) != nil
}

// loopback reports whether a name of a URL is this machine's own to a browser.
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

func hostname(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = h
	}
	return strings.ToLower(strings.Trim(hostport, "[]"))
}

// Quoted quotes what a client sent, for messages to it; it is cut after 100 bytes.
func Quoted(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return `"` + s + `"`
}
