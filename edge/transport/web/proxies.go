package web

import (
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the networks of trusted proxies, whose statements about client addresses are
// believed.
type Proxies []netip.Prefix

// Trusts reports whether an address is a trusted proxy's.
func (p Proxies) Trusts(a netip.Addr) bool {
	for _, network := range p {
		if network.Contains(a) {
			return true
		}
	}
	return false
}

// Address returns the address of a request's client: the peer's or, if that is a proxy, the one
// that it names. It returns the zero Addr if the server does not know it.
func (p Proxies) Address(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	address := peer.Addr().Unmap().WithZone("")
	if !p.Trusts(address) {
		return address
	}
	return p.forwardedClient(address, r.Header)
}

const (
	headerForwardedFor = "X-Forwarded-For"
	headerForwarded    = "Forwarded"
)

// forwardedClient returns the client address that a proxy names in X-Forwarded-For or Forwarded. A proxy
// appends to one of the headers and passes the other one on as its client sent it: if they differ,
// neither is believed, and the result is the proxy's own address.
func (p Proxies) forwardedClient(proxy netip.Addr, h http.Header) netip.Addr {
	list, elements := h[headerForwardedFor], h[headerForwarded]
	switch {
	case len(elements) == 0:
		return p.nearestUntrusted(proxy, list, parseNode)
	case len(list) == 0:
		return p.nearestUntrusted(proxy, elements, forwardedFor)
	}
	one, other := p.nearestUntrusted(proxy, list, parseNode), p.nearestUntrusted(proxy, elements, forwardedFor)
	if one != other {
		return proxy
	}
	return one
}

// nearestUntrusted returns the last address of a list that is not a trusted proxy's. Each proxy appends the
// address of its caller, so earlier entries may be forged. If an entry cannot be parsed, the result
// is the address of the proxy that appended it.
func (p Proxies) nearestUntrusted(proxy netip.Addr, lines []string, parse func(string) (netip.Addr, bool)) netip.Addr {
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; {
			var entry string
			rest, entry, more = cutLast(rest)
			address, ok := parse(strings.TrimSpace(entry))
			if !ok {
				return proxy
			}
			if proxy = address; !p.Trusts(address) {
				return address
			}
		}
	}
	return proxy
}

// cutLast splits a list before its last entry. more is true if there are other entries.
func cutLast(list string) (rest, entry string, more bool) {
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		return list[:i], list[i+1:], true
	}
	return "", list, false
}

// parseNode parses an address, with or without a port, and an IPv6 address with or without
// brackets.
func parseNode(s string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		s, _ = strings.CutSuffix(inner, "]")
	}
	a, err := netip.ParseAddr(s)
	return a.Unmap().WithZone(""), err == nil
}

// forwardedFor parses the parameter "for" of one element of the header Forwarded (RFC 7239, section
// 5.2).
func forwardedFor(element string) (netip.Addr, bool) {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if ok && strings.EqualFold(name, "for") {
			return parseNode(strings.Trim(value, `"`))
		}
	}
	return netip.Addr{}, false
}
