package mcp

import "net/netip"

// CountedAddress returns the unit in which bounds count addresses: an IPv4 address itself, and for
// an IPv6 address its /64 network, all of which one host may use. For the zero Addr it returns the
// zero Addr.
func CountedAddress(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	network, _ := a.Prefix(64)
	return network.Addr()
}
