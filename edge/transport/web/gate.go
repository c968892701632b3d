package web

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// gate decides which hosts and origins may call, against DNS rebinding and foreign web pages.
type gate struct {
	hosts   map[string]bool // empty: any
	origins map[string]bool
	any     bool
}

func newGate(o Options) gate {
	g := gate{hosts: map[string]bool{}, origins: map[string]bool{}}
	for _, h := range o.Hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	for _, origin := range o.Origins {
		if origin == "*" {
			g.any = true
		}
		g.origins[strings.ToLower(strings.TrimSuffix(origin, "/"))] = true
	}
	return g
}

// check returns what to tell a caller who may not call; empty: it may.
func (g gate) check(r *http.Request) string {
	if len(g.hosts) > 0 && !g.hosts[hostname(r.Host)] {
		return "host " + Quoted(r.Host) + " is not served here: call the edge by a name it is configured for"
	}
	if n := len(r.Header.Values("Origin")); n > 1 {
		return "origin was sent " + strconv.Itoa(n) + " times: send it once"
	}
	origin := r.Header.Get("Origin")
	if origin == "" || g.allows(origin, r.Host) {
		return ""
	}
	return "origin " + Quoted(origin) + " is not allowed: add it to the edge's allowed origins"
}

// allows reports whether a page of the origin may call an edge that it knows as host. That the two are
// equal says nothing of a name, which an attacker may point at the edge; an address cannot be rebound.
func (g gate) allows(origin, host string) bool {
	if g.any || g.origins[strings.ToLower(origin)] {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	if len(g.hosts) > 0 {
		return g.hosts[strings.ToLower(u.Hostname())]
	}
	return strings.EqualFold(u.Host, host) && net.ParseIP(u.Hostname()) != nil
}

// cors tells a browser what its page may do; the origin was checked before.
func (g gate) cors(w http.ResponseWriter, r *http.Request) {
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

// Quoted shows a client's own header back to it, bounded.
func Quoted(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return `"` + s + `"`
}
